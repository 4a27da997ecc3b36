// SPDX-License-Identifier: Apache-2.0
//
// Parses the Protocol Buffers messages tf.train.Example and SequenceExample
// (docs/formats/tfrecord.md, section 3) as protobuf's own readers do.
#include "core/formats/tfrecord/example.h"

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/content/check_at.h"
#include "core/formats/tfrecord/limits.h"

namespace ctxfs::tfrecord {
namespace {

constexpr uint64_t kHighestField = (uint64_t{1} << 29) - 1;

constexpr unsigned kVarintType = 0;
constexpr unsigned kFixed64Type = 1;
constexpr unsigned kBytesType = 2;
constexpr unsigned kStartGroup = 3;
constexpr unsigned kEndGroup = 4;
constexpr unsigned kFixed32Type = 5;

Error NotAnExample() { return {Code::kCorrupt, "not_an_example"}; }

/// A field of a message. A group is two fields: its start and its end.
struct Field {
  uint64_t number = 0;
  unsigned type = 0;
  Span span = {};    // the tag included
  Bytes bytes = {};  // the value, for kBytesType only

  bool IsBytes(uint64_t wanted) const {
    return number == wanted && type == kBytesType;
  }
};

/// Reads the next field. Returns false if it is malformed.
bool ReadField(ByteReader& in, Field& field) {
  const uint64_t begin = in.offset();
  const uint64_t tag = in.Uvarint();
  field = {.number = tag >> 3, .type = static_cast<unsigned>(tag & 7)};
  switch (field.type) {
    case kVarintType:
      (void)in.Uvarint();
      break;
    case kFixed64Type:
      in.Skip(8);
      break;
    case kBytesType:
      field.bytes = in.Take(in.Uvarint());
      break;
    case kFixed32Type:
      in.Skip(4);
      break;
    case kStartGroup:
    case kEndGroup:
      break;
    default:
      return false;
  }
  field.span = {begin, in.offset()};
  return in.ok() && field.number >= 1 && field.number <= kHighestField;
}

/// Enters or leaves a group if `field` is its start or end. `open` has the
/// field numbers of the enclosing groups. Returns false if groups do not match
/// or are nested too deep.
bool Nest(const Field& field, std::vector<uint64_t>& open) {
  if (field.type == kStartGroup) {
    open.push_back(field.number);
    return open.size() <= kMaxGroups;
  }
  if (field.type != kEndGroup) return true;
  if (open.empty() || open.back() != field.number) return false;
  open.pop_back();
  return true;
}

/// Whether two steps can be rows of one array of numbers.
bool IsLike(const Feature& a, const Feature& b) {
  return a.HoldsNumbers() && a.kind == b.kind && a.count == b.count;
}

/// Parses the messages of a record.
class Parser {
 public:
  Parser(const RecordBytes& record, const ReadContext& context)
      : record_(record), context_(context) {}

  Status Parse(RecordKind kind) {
    return ForEach(record_.bytes, [&](const Field& field) -> Status {
      has_others_ |= field.number != 1;
      if (field.IsBytes(1)) {
        has_features_ = true;
        return ParseMap(field.bytes, example_.features);
      }
      if (kind != RecordKind::kSequence || !field.IsBytes(2)) return {};
      has_lists_ = true;
      return ParseMap(field.bytes, example_.lists);
    });
  }

  /// The message type of the record. Parse(kSequence) must have succeeded.
  RecordKind kind() const {
    if (has_lists_) return RecordKind::kSequence;
    return has_features_ && !has_others_ ? RecordKind::kExample
                                         : RecordKind::kUnknown;
  }
  Example Take() && { return std::move(example_); }

 private:
  /// Calls `handle` for each field of a message that is not inside a group.
  template <typename Handle>
  Status ForEach(Bytes message, const Handle& handle) {
    const auto begin = message.data() - record_.bytes.data();
    ByteReader in(message, record_.at + static_cast<uint64_t>(begin));
    std::vector<uint64_t> groups;
    Field field;
    while (in.remaining() > 0) {
      CTXFS_TRY(CheckAt(context_, steps_++));
      if (!ReadField(in, field)) return NotAnExample();
      if (groups.empty()) CTXFS_TRY(handle(field));
      if (!Nest(field, groups)) return NotAnExample();
    }
    return groups.empty() ? Status() : NotAnExample();
  }

  template <typename T>
  Status ParseMap(Bytes message, std::map<std::string_view, T>& map) {
    return ForEach(message, [&](const Field& field) {
      return field.IsBytes(1) ? ParseEntry(field.bytes, map) : Status();
    });
  }

  template <typename T>
  Status ParseEntry(Bytes message, std::map<std::string_view, T>& map) {
    std::string_view key;
    T value{};
    CTXFS_TRY(ForEach(message, [&](const Field& field) -> Status {
      if (field.IsBytes(1)) key = AsText(field.bytes);
      return field.IsBytes(2) ? ParseValue(field.bytes, value) : Status();
    }));
    if (!IsUtf8(key)) return NotAnExample();
    const bool known = map.contains(key);
    if (!known) names_ += key.size();
    example_.too_many |=
        !known && (map.size() == kMaxFiles || names_ > kMaxNames);
    // If a name occurs twice, the last value counts.
    if (known || !example_.too_many) map[key] = std::move(value);
    return HeapAllowance::Check();
  }

  Status ParseValue(Bytes message, Feature& feature) {
    return ForEach(message, [&](const Field& field) -> Status {
      if (field.type != kBytesType || field.number > 3) return {};
      const auto kind = static_cast<ValueKind>(field.number);
      // A value of another kind replaces all values before it.
      if (feature.kind != kind) feature = {.kind = kind};
      return ForEach(field.bytes, [&](const Field& values) {
        return AddValues(values, feature);
      });
    });
  }

  Status ParseValue(Bytes message, FeatureList& list) {
    std::vector<Feature>& steps = list.steps;
    return ForEach(message, [&](const Field& field) -> Status {
      if (!field.IsBytes(1)) return {};
      if (example_.too_many) steps.clear();
      CTXFS_TRY(AdmitGrowth(steps));
      CTXFS_TRY(ParseValue(field.bytes, steps.emplace_back()));
      list.regular = list.regular && IsLike(steps.back(), steps.front());
      // Steps that are not rows of one array have a file each.
      example_.too_many |= !list.regular && steps.size() > kMaxFiles;
      return {};
    });
  }

  /// Adds the values in a field of a list. A field of an unexpected number or
  /// type is skipped, like any unknown field.
  Status AddValues(const Field& field, Feature& feature) {
    if (field.number != 1) return {};
    const bool numbers = feature.HoldsNumbers();
    if (field.type == kBytesType) {
      if (numbers) return AddPacked(field, feature);
      const uint64_t end = field.span.end;
      return AddRun({{end - field.bytes.size(), end}}, feature);
    }
    const unsigned single =
        feature.kind == ValueKind::kInts ? kVarintType : kFixed32Type;
    if (!numbers || field.type != single) return {};
    return AddRun({field.span, 1, false}, feature);
  }

  Status AddPacked(const Field& field, Feature& feature) {
    ByteReader in(field.bytes, field.span.end - field.bytes.size());
    while (in.remaining() > 0) {
      CTXFS_TRY(context_.Check());
      Run run{{in.offset(), 0}, 0};
      for (; run.count < Run::kMaxCount && in.remaining() > 0; ++run.count) {
        (void)(feature.kind == ValueKind::kInts ? in.Uvarint() : in.U32());
        if (!in.ok()) return NotAnExample();
      }
      run.span.end = in.offset();
      CTXFS_TRY(AddRun(run, feature));
    }
    return {};
  }

  static Status AddRun(const Run& run, Feature& feature) {
    std::vector<Run>& runs = feature.runs;
    feature.count += run.count;
    if (!feature.HoldsNumbers() && runs.size() > kMaxFiles) return {};
    if (!run.packed && !runs.empty() && !runs.back().packed &&
        runs.back().span.end == run.span.begin &&
        runs.back().count < Run::kMaxCount) {
      runs.back().span.end = run.span.end;
      ++runs.back().count;
      return {};
    }
    CTXFS_TRY(AdmitGrowth(runs));
    runs.push_back(run);
    return {};
  }

  const RecordBytes& record_;
  const ReadContext& context_;
  Example example_;
  uint64_t steps_ = 0;  // of all loops over fields
  uint64_t names_ = 0;  // bytes
  bool has_features_ = false;
  bool has_lists_ = false;
  bool has_others_ = false;
};

}  // namespace

Result<Example> ParseExample(const RecordBytes& record, RecordKind kind,
                             const ReadContext& context) {
  Parser parser(record, context);
  CTXFS_TRY(parser.Parse(kind));
  return std::move(parser).Take();
}

// Parses a record only as a SequenceExample. A record whose feature lists do
// not parse is no Example either, because an Example has only features.
Result<RecordKind> KindOf(Bytes record, const ReadContext& context) {
  const RecordBytes bytes{record};
  Parser parser(bytes, context);
  const Status parsed = parser.Parse(RecordKind::kSequence);
  if (parsed) return parser.kind();
  if (parsed.error().code != Code::kCorrupt) return parsed.error();
  return RecordKind::kUnknown;
}

}  // namespace ctxfs::tfrecord
