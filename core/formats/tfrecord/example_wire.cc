// SPDX-License-Identifier: Apache-2.0
//
// Protocol Buffers of tf.train.Example and SequenceExample
// (docs/formats/tfrecord.md, section 3), as protobuf's own readers read them.
#include "core/formats/tfrecord/example_wire.h"

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/content/check_at.h"
#include "core/formats/tfrecord/limits.h"

namespace ctxfs::tfrecord {
namespace {

constexpr uint64_t kHighestField = (uint64_t{1} << 29) - 1;
constexpr size_t kLongestVarint = 10;

constexpr unsigned kVarintType = 0;
constexpr unsigned kFixed64Type = 1;
constexpr unsigned kBytesType = 2;
constexpr unsigned kStartGroup = 3;
constexpr unsigned kEndGroup = 4;
constexpr unsigned kFixed32Type = 5;

/// Counts the varints in a packed list; adds them to `count`.
bool CountVarints(Bytes packed, uint64_t& count) {
  WireReader in(packed);
  while (!in.left().empty()) {
    (void)in.Varint();
    if (!in.ok()) return false;
    ++count;
  }
  return true;
}

/// Counts the values in a field of a list; false if it is malformed. A field of
/// another type is unknown, and has none.
bool CountIn(const WireReader::Field& field, ValueKind kind, uint64_t& count) {
  if (field.number != 1) return true;
  if (field.type == kBytesType) {
    if (kind == ValueKind::kInts) return CountVarints(field.bytes, count);
    count += kind == ValueKind::kBytes ? 1 : field.bytes.size() / 4;
    return kind == ValueKind::kBytes || field.bytes.size() % 4 == 0;
  }
  const unsigned single = kind == ValueKind::kInts ? kVarintType : kFixed32Type;
  if (kind != ValueKind::kBytes && field.type == single) ++count;
  return true;
}

bool HoldsNumbers(const Feature& feature) {
  return feature.kind == ValueKind::kInts || feature.kind == ValueKind::kFloats;
}

/// Whether two steps are rows of one array of numbers.
bool IsLike(const Feature& a, const Feature& b) {
  return HoldsNumbers(a) && a.kind == b.kind && a.count == b.count;
}

/// Parses the messages of a record. After a fault, `ok` is false for good.
class Parser {
 public:
  explicit Parser(const ReadContext& context) : context_(context) {}

  bool Parse(Bytes record, RecordKind kind, Example& example);
  /// The request's own failure.
  const Status& status() const { return status_; }

 private:
  /// Calls `handle` for each field of a message, until one fails.
  template <typename Handle>
  bool ForEach(Bytes message, const Handle& handle) {
    WireReader in(message);
    WireReader::Field field;
    while (in.Next(field)) {
      if (!Tick() || !handle(field)) return false;
    }
    return in.ok();
  }
  bool Tick();
  bool Admit(const Status& admitted);

  /// The entries of a map: calls `value` for the values of each.
  template <typename T, typename ParseValue>
  bool ParseEntry(Bytes entry, std::map<std::string_view, T>& map,
                  const ParseValue& parse);
  bool ParseFeatures(Bytes message, Features& features);
  bool ParseLists(Bytes message, FeatureLists& lists);
  bool ParseSteps(Bytes message, std::vector<Feature>& steps);
  bool ParseFeature(Bytes message, Feature& feature);
  bool Append(Bytes list, ValueKind kind, Feature& feature);

  const ReadContext& context_;
  Status status_;
  uint64_t fields_ = 0;
  uint64_t names_ = 0;  // bytes
  bool too_many_ = false;
};

bool Parser::Tick() { return Admit(CheckAt(context_, fields_++)); }

bool Parser::Admit(const Status& admitted) {
  if (!admitted && status_) status_ = admitted;
  return admitted.has_value();
}

bool Parser::Append(Bytes list, ValueKind kind, Feature& feature) {
  // Of two kinds in one feature the last counts.
  if (feature.kind != kind) feature = {.kind = kind};
  const uint64_t before = feature.count;
  const bool sound = ForEach(list, [&](const WireReader::Field& field) {
    return CountIn(field, kind, feature.count);
  });
  if (!sound || feature.count == before) return sound;
  if (feature.list.empty()) {
    feature.list = list;
    return true;
  }
  if (!Admit(AdmitGrowth(feature.more))) return false;
  feature.more.push_back(list);
  return true;
}

bool Parser::ParseFeature(Bytes message, Feature& feature) {
  return ForEach(message, [&](const WireReader::Field& field) {
    if (field.type != kBytesType || field.number > 3) return true;
    return Append(field.bytes, static_cast<ValueKind>(field.number), feature);
  });
}

template <typename T, typename ParseValue>
bool Parser::ParseEntry(Bytes entry, std::map<std::string_view, T>& map,
                        const ParseValue& parse) {
  std::string_view key;
  T value{};
  const bool sound = ForEach(entry, [&](const WireReader::Field& field) {
    if (field.IsBytes(1)) key = AsText(field.bytes);
    return !field.IsBytes(2) || parse(field.bytes, value);
  });
  if (!sound || !IsUtf8(key)) return false;
  // Of a name that comes twice the last counts.
  const auto known = map.find(key);
  if (known != map.end()) {
    known->second = std::move(value);
    return true;
  }
  names_ += key.size();
  too_many_ |= map.size() == kMaxFiles || names_ > kMaxNames;
  if (!too_many_) map.emplace(key, std::move(value));
  return Admit(HeapAllowance::Check());
}

bool Parser::ParseFeatures(Bytes message, Features& features) {
  return ForEach(message, [&](const WireReader::Field& field) {
    return !field.IsBytes(1) ||
           ParseEntry(field.bytes, features, [this](Bytes value, Feature& one) {
             return ParseFeature(value, one);
           });
  });
}

bool Parser::ParseSteps(Bytes message, std::vector<Feature>& steps) {
  bool regular = steps.empty() || IsRegular(steps);
  return ForEach(message, [&](const WireReader::Field& field) {
    if (!field.IsBytes(1)) return true;
    if (too_many_) steps.clear();
    if (!Admit(AdmitGrowth(steps))) return false;
    const bool sound = ParseFeature(field.bytes, steps.emplace_back());
    regular = regular && IsLike(steps.back(), steps.front());
    // Otherwise each step has a file of its own.
    too_many_ |= !regular && steps.size() > kMaxFiles;
    return sound;
  });
}

bool Parser::ParseLists(Bytes message, FeatureLists& lists) {
  return ForEach(message, [&](const WireReader::Field& field) {
    return !field.IsBytes(1) ||
           ParseEntry(field.bytes, lists,
                      [this](Bytes value, std::vector<Feature>& steps) {
                        return ParseSteps(value, steps);
                      });
  });
}

bool Parser::Parse(Bytes record, RecordKind kind, Example& example) {
  const bool sound = ForEach(record, [&](const WireReader::Field& field) {
    if (field.IsBytes(1)) return ParseFeatures(field.bytes, example.features);
    const bool lists = kind == RecordKind::kSequence && field.IsBytes(2);
    return !lists || ParseLists(field.bytes, example.lists);
  });
  example.too_many = too_many_;
  return sound;
}

/// Whether a record has a field of this number; if `only`, and no other.
bool Has(Bytes record, uint64_t wanted, bool only) {
  WireReader in(record);
  WireReader::Field field;
  bool has = false;
  while (in.Next(field)) {
    if (only && field.number != wanted) return false;
    has |= field.IsBytes(wanted);
  }
  return has;
}

Result<bool> Parses(Bytes record, RecordKind kind, const ReadContext& context) {
  const Result<Example> parsed = ParseExample(record, kind, context);
  if (!parsed && parsed.error().code != Code::kCorrupt) return parsed.error();
  return parsed.has_value();
}

}  // namespace

bool IsRegular(const std::vector<Feature>& steps) {
  return !steps.empty() &&
         std::all_of(steps.begin(), steps.end(), [&](const Feature& step) {
           return IsLike(step, steps.front());
         });
}

uint64_t WireReader::Varint() {
  uint64_t value = 0;
  for (size_t i = 0; i < left_.size() && i < kLongestVarint; ++i) {
    const auto byte = std::to_integer<uint64_t>(left_[i]);
    // Nine bytes hold 63 bits, so the tenth may hold only one.
    if (i + 1 == kLongestVarint && byte > 1) break;
    value |= (byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) == 0) {
      left_ = left_.subspan(i + 1);
      return value;
    }
  }
  ok_ = false;
  return 0;
}

Bytes WireReader::Take(uint64_t count) {
  if (count > left_.size()) {
    ok_ = false;
    return {};
  }
  const Bytes taken = left_.first(static_cast<size_t>(count));
  left_ = left_.subspan(taken.size());
  return taken;
}

bool WireReader::ReadTag(Field& field) {
  const uint64_t tag = Varint();
  field = {.number = tag >> 3, .type = static_cast<unsigned>(tag & 7)};
  ok_ = ok_ && field.number >= 1 && field.number <= kHighestField;
  return ok_;
}

void WireReader::ReadValue(Field& field) {
  switch (field.type) {
    case kVarintType:
      field.value = Varint();
      return;
    case kFixed64Type:
      (void)Take(8);
      return;
    case kBytesType:
      field.bytes = Take(Varint());
      return;
    case kFixed32Type: {
      const Bytes taken = Take(4);
      if (ok_) field.value = LoadLe<uint32_t>(taken.data());
      return;
    }
    case kStartGroup:
      return SkipGroup(field.number);
    default:
      ok_ = false;
  }
}

void WireReader::SkipGroup(uint64_t number) {
  std::vector<uint64_t> open = {number};
  Field field;
  while (!open.empty() && ReadTag(field)) {
    if (field.type == kStartGroup) {
      ok_ = open.size() < kMaxGroups;
      open.push_back(field.number);
    } else if (field.type == kEndGroup) {
      ok_ = field.number == open.back();
      open.pop_back();
    } else {
      ReadValue(field);
    }
    if (!ok_) return;
  }
}

bool WireReader::Next(Field& field) {
  if (!ok_ || left_.empty() || !ReadTag(field)) return false;
  ReadValue(field);
  return ok_;
}

Result<Example> ParseExample(Bytes record, RecordKind kind,
                             const ReadContext& context) {
  Parser parser(context);
  Example example;
  if (parser.Parse(record, kind, example)) return example;
  if (!parser.status()) return parser.status().error();
  return Error{Code::kCorrupt, "not_an_example"};
}

Result<RecordKind> KindOf(Bytes record, const ReadContext& context) {
  const bool lists = Has(record, 2, /*only=*/false);
  if (lists && CTXFS_TRY(Parses(record, RecordKind::kSequence, context))) {
    return RecordKind::kSequence;
  }
  if (!Has(record, 1, /*only=*/true)) return RecordKind::kUnknown;
  const bool example = CTXFS_TRY(Parses(record, RecordKind::kExample, context));
  return example ? RecordKind::kExample : RecordKind::kUnknown;
}

}  // namespace ctxfs::tfrecord
