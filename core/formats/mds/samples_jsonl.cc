// SPDX-License-Identifier: Apache-2.0
//
// Shows samples as JSON lines: views/samples.jsonl (docs/formats/mds.md,
// section 6).
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/json/json_writer.h"
#include "core/codec/numbers/half.h"
#include "core/container/foreign/magics.h"
#include "core/container/part_texts.h"
#include "core/formats/mds/limits.h"
#include "core/formats/mds/mds.h"
#include "core/formats/mds/sample_reader.h"
#include "core/formats/sample_shard/stored_json.h"

namespace ctxfs::mds {
namespace {

/// The shortest decimal number that reads back as `half`.
double ShortestOf(uint16_t half) {
  constexpr uint16_t kMagnitude = 0x7FFF;
  const double value = HalfToFloat(half);
  if (value == 0 || !std::isfinite(value)) return value;
  if (value < 0) return -ShortestOf(half & kMagnitude);
  // Every number between `below` and `above` is nearer to `value` than to any
  // other half.
  const double below = (value + HalfToFloat(half - 1)) / 2;
  constexpr uint16_t kGreatest = 0x7BFF;
  const double above = half == kGreatest ? value + (value - below)
                                         : (value + HalfToFloat(half + 1)) / 2;
  for (int digits = 0; digits < 5; ++digits) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                   value, std::chars_format::scientific, digits)
                         .ptr;
    double read = 0;
    std::from_chars(text.data(), end, read);
    if (read > below && read < above) return read;
  }
  return value;
}

/// Appends an element; null for NaN and infinities, which JSON does not have.
/// With `in_list`, floats have the digits of doubles, as in numpy's tolist().
void AppendElement(DType dtype, const std::byte* at, bool in_list,
                   std::string& text) {
  const auto put_float = [&text](auto value) {
    if (!std::isfinite(value)) {
      text += "null";
    } else {
      AppendFloat(value, text);
    }
  };
  const auto put = [&](auto zero) {
    const auto value = LoadLe<decltype(zero)>(at);
    if constexpr (std::is_integral_v<decltype(zero)>) {
      text += std::to_string(value);
    } else if (in_list) {
      put_float(double{value});
    } else {
      put_float(value);
    }
  };
  VisitNumber(dtype, put, [&] {
    const auto half = LoadLe<uint16_t>(at);  // f16 is the only other type
    put_float(in_list ? double{HalfToFloat(half)} : ShortestOf(half));
  });
}

/// Appends elements of `shape` as nested lists, and moves `at` past them.
Status AppendNested(DType dtype, std::span<const uint64_t> shape,
                    const std::byte*& at, std::string& text,
                    const Request& request) {
  if (shape.empty()) {
    AppendElement(dtype, at, /*in_list=*/true, text);
    at += DTypeSize(dtype);
    return {};
  }
  CTXFS_TRY(request.CheckMemory());
  text += '[';
  for (uint64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) text += ',';
    CTXFS_TRY(AppendNested(dtype, shape.subspan(1), at, text, request));
  }
  text += ']';
  return {};
}

/// Whether `text` is a float of Python that JSON does not have.
bool IsNotFinite(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTexts = {
      "nan", "inf", "-inf", "NaN", "Infinity", "-Infinity"};
  return std::ranges::find(kTexts, text) != kTexts.end();
}

bool IsNumber(std::string_view text, const ReadContext& context) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) {
    return false;
  }
  const auto passed =
      sample_shard::PassJson(text, sample_shard::JsonForm::kStored, context);
  return passed && *passed == text;
}

/// The value of "$error" in the line of a sample that cannot be read.
std::string_view ReasonOf(const Error& error) {
  switch (error.code) {
    case Code::kChecksum:
      return "checksum";
    case Code::kLimit:
      return "limit";
    case Code::kUnsupported:
      return "unsupported";
    default:
      return "corrupt";
  }
}

/// Writes the line of a sample.
class LineWriter {
 public:
  LineWriter(const MdsContainer& set, const PathsInTree& paths,
             SampleReader sample, const ReadContext& context)
      : set_(set),
        paths_(paths),
        sample_(std::move(sample)),
        context_(context) {}

  Result<std::string> Line() && {
    const std::vector<Column>& columns = set_.index().columns;
    json_.BeginObject();
    for (uint32_t i = 0; i < columns.size(); ++i) {
      json_.Key(columns[i].name);
      CTXFS_TRY(Put(i));
      CTXFS_TRY(Status(json_.status()));
    }
    json_.EndObject();
    json_.Append("\n");
    return std::move(json_).Take();
  }

 private:
  Status Put(uint32_t column) {
    const Column& of = set_.index().columns[column];
    const Value value = sample_.ValueOf(column);
    const bool long_bytes =
        of.json == JsonKind::kBytes && value.size > kMaxShownBytes;
    if (of.json == JsonKind::kFile || long_bytes) return PutFiles(column);
    const Buffer bytes = CTXFS_TRY(sample_.ReadValue(value));
    if (of.json == JsonKind::kNumbers) return PutNumbers(of, bytes.data());
    if (of.json == JsonKind::kBytes && value.size != 0 &&
        !IsReadableText(bytes.span())) {
      return PutFiles(column);
    }
    return PutText(of.json, AsText(bytes.span()));
  }

  Status PutText(JsonKind kind, std::string_view text) {
    if (kind == JsonKind::kJson) {
      json_.Raw(CTXFS_TRY(sample_shard::PassJson(
          text, sample_shard::JsonForm::kOneLine, context_)));
    } else if (kind == JsonKind::kDigits && IsNotFinite(text)) {
      json_.Null();
    } else if (kind == JsonKind::kDigits && IsNumber(text, context_)) {
      json_.Raw(text);
    } else {
      json_.Value(text);
    }
    return {};
  }

  Status PutNumbers(const Column& column, const std::byte* at) {
    std::string text;
    if (column.shape.empty()) {
      AppendElement(*column.dtype, at, /*in_list=*/false, text);
    } else {
      CTXFS_TRY(AppendNested(*column.dtype, column.shape, at, text, context_));
    }
    json_.Raw(text);
    return {};
  }

  /// Puts path and size of the file of a value, or of the files of a list.
  Status PutFiles(uint32_t column) {
    const Column& of = set_.index().columns[column];
    const std::string suffix = CTXFS_TRY(set_.SuffixOf(column, context_));
    const std::string path =
        paths_.OfNumbered(DirectoryOf(of)) + "/" + NumberText(sample_.number());
    if (of.kind != ColumnKind::kList) {
      const ShownValue value = CTXFS_TRY(sample_.ShownOf(column));
      PutFile(path + suffix, value.size);
      return {};
    }
    const std::vector<uint64_t> items = CTXFS_TRY(sample_.ItemsOf(column));
    json_.BeginArray();
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      PutFile(path + "/" + NumberText(i) + suffix, items[i + 1] - items[i]);
    }
    json_.EndArray();
    return {};
  }

  void PutFile(const std::string& path, uint64_t size) {
    json_.BeginObject();
    json_.Member("path", path);
    json_.Member("size", size);
    json_.EndObject();
  }

  const MdsContainer& set_;
  const PathsInTree& paths_;
  SampleReader sample_;
  const ReadContext& context_;
  JsonWriter json_{limits::kDecodedBytes,
                   {Code::kLimit, "the line is too long"},
                   [this](uint64_t bytes) { return context_.Charge(bytes); }};
};

Result<std::string> TryLine(const MdsContainer& set, const PathsInTree& paths,
                            uint32_t number, const ReadContext& context) {
  SampleReader sample =
      CTXFS_TRY(SampleReader::OpenVerified(set.shards(), number, context));
  return LineWriter(set, paths, std::move(sample), context).Line();
}

/// Returns the line of a sample; for a damaged sample, a line with "$error".
/// Fails only with transient errors.
Result<std::string> LineOf(const MdsContainer& set, const PathsInTree& paths,
                           uint32_t number, const ReadContext& context) {
  Result<std::string> line = TryLine(set, paths, number, context);
  if (line || !line.error().Permanent()) return line;
  return Json{{"$error", ReasonOf(line.error())}, {"sample", number}}.dump() +
         "\n";
}

/// Uses a value as the caption or the picture of `shown`, if it is suitable and
/// `shown` has none yet.
Status AddShown(SampleReader& sample, const Column& column, uint32_t number,
                ShownSample& shown) {
  const bool text = column.encoding == "str" && shown.caption.empty();
  const bool picture =
      (column.encoding == "png" || column.encoding == "jpeg") &&
      shown.picture.empty();
  if (!text && !picture) return {};
  const Value value = sample.ValueOf(number);
  const uint64_t most =
      text ? ShowsSamples::kMaxTextBytes : ShowsSamples::kMaxPictureBytes;
  if (value.size > most) {
    if (picture) shown.note = "the picture is too large";
    return {};
  }
  const Buffer bytes = CTXFS_TRY(sample.ReadValue(value));
  (text ? shown.caption : shown.picture) = AsText(bytes.span());
  return {};
}

}  // namespace

std::shared_ptr<const FileTable> SampleLines(
    std::shared_ptr<const MdsContainer> of, const PathsInTree& paths) {
  std::vector<uint32_t> starts;
  const uint32_t samples = of->index().samples;
  // Bounds the number of blocks, because a hostile index may claim any number
  // of samples.
  const uint64_t step =
      std::max<uint64_t>(kSamplesPerBlock, samples / kMaxBlocks);
  for (uint64_t i = 0; i < samples; i += step) {
    starts.push_back(static_cast<uint32_t>(i));
  }
  starts.push_back(samples);
  auto lines = std::make_shared<const PartTexts>(
      PartTexts{.noun = "sample",
                .source = of->source(),
                .bytes =
                    [of](uint32_t sample) {
                      const ShardRecord& shard =
                          of->shards().record(of->shards().ShardOf(sample));
                      return shard.raw.bytes / std::max(shard.samples, 1U);
                    },
                .text =
                    [of, &paths](uint32_t sample, const ReadContext& context) {
                      return LineOf(*of, paths, sample, context);
                    }});
  return JoinedTexts(Role::kViews, "samples.jsonl", std::move(lines),
                     std::move(starts));
}

Result<std::vector<ShownSample>> MdsContainer::FirstSamples(
    size_t most, const ReadContext& context) const {
  constexpr uint32_t kMaxTried = 1000;
  std::vector<ShownSample> samples;
  const uint32_t end = std::min(index().samples, kMaxTried);
  for (uint32_t i = 0; i < end && samples.size() < most; ++i) {
    CTXFS_TRY(context.Check());
    auto sample = SampleReader::OpenVerified(*shards_, i, context);
    if (!sample) continue;
    ShownSample shown{.key = NumberText(i)};
    for (uint32_t c = 0; c < index().columns.size(); ++c) {
      CTXFS_TRY(AddShown(*sample, index().columns[c], c, shown));
    }
    if (!shown.caption.empty() || !shown.picture.empty()) {
      samples.push_back(std::move(shown));
    }
  }
  return samples;
}

}  // namespace ctxfs::mds
