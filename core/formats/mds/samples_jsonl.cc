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
#include "core/formats/mds/columns.h"
#include "core/formats/mds/limits.h"
#include "core/formats/mds/mds.h"
#include "core/formats/sample_shard/stored_json.h"

namespace ctxfs::mds {
namespace {

constexpr uint64_t kMaxLine = limits::kDecodedBytes;

/// The shortest decimal number that reads back as `half`, which is finite and
/// positive.
double ShortestOf(uint16_t half) {
  const double value = HalfToFloat(half);
  // Every number between these is nearest to `value`.
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

void AppendHalf(uint16_t half, std::string& text) {
  constexpr unsigned kSign = 0x8000;
  const auto magnitude = static_cast<uint16_t>(half & ~kSign);
  if ((half & kSign) != 0) text += '-';
  AppendFloat(magnitude == 0 ? 0.0 : ShortestOf(magnitude), text);
}

/// Appends one element; null for a float that JSON does not have.
void AppendElement(DType dtype, const std::byte* at, std::string& text) {
  VisitNumber(
      dtype,
      [&](auto zero) {
        using T = decltype(zero);
        const T value = LoadLe<T>(at);
        if constexpr (std::is_floating_point_v<T>) {
          if (!std::isfinite(value)) {
            text += "null";
          } else {
            AppendFloat(value, text);
          }
        } else {
          text += std::to_string(value);
        }
      },
      [&] {
        const auto half = LoadLe<uint16_t>(at);  // the only other type
        if (std::isfinite(HalfToFloat(half))) {
          AppendHalf(half, text);
        } else {
          text += "null";
        }
      });
}

/// Appends an element of a list: floats as numpy's tolist() has them, which
/// widens them to doubles.
void AppendItem(DType dtype, const std::byte* at, std::string& text) {
  if (dtype != DType::kF16 && dtype != DType::kF32) {
    return AppendElement(dtype, at, text);
  }
  const double value = dtype == DType::kF16 ? HalfToFloat(LoadLe<uint16_t>(at))
                                            : LoadLe<float>(at);
  if (!std::isfinite(value)) {
    text += "null";
  } else {
    AppendFloat(value, text);
  }
}

/// Appends elements of `shape` as nested lists.
Status AppendNested(DType dtype, std::span<const uint64_t> shape,
                    const std::byte*& at, std::string& text,
                    const Request& request) {
  if (shape.empty()) {
    AppendItem(dtype, at, text);
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

/// A word for the reason in "$error".
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

/// Makes the lines of samples.
class LineMaker {
 public:
  LineMaker(std::shared_ptr<const MdsContainer> of, const PathsInTree& paths)
      : of_(std::move(of)), paths_(paths) {}

  const MdsContainer& container() const { return *of_; }

  /// Fails only with transient errors.
  Result<std::string> Line(uint32_t sample, const ReadContext& context) const {
    Result<std::string> line = TryLine(sample, context);
    if (line || !line.error().Permanent()) return line;
    return Json{{"$error", ReasonOf(line.error())}, {"sample", sample}}.dump() +
           "\n";
  }

  /// Estimated bytes of a sample.
  uint64_t Bytes(uint32_t sample) const {
    const ShardRecord& record =
        of_->shards().record(of_->shards().ShardOf(sample));
    return record.raw.bytes / std::max(record.samples, 1U);
  }

 private:
  Result<std::string> TryLine(uint32_t number,
                              const ReadContext& context) const {
    const Shards& shards = of_->shards();
    SampleReader reader =
        CTXFS_TRY(SampleReader::Open(shards, shards.ShardOf(number), context));
    CTXFS_TRY(reader.Verify());
    const Sample sample = *CTXFS_TRY(reader.Find(number));
    JsonWriter writer(
        kMaxLine, {Code::kLimit, "the line is too long"},
        [&context](uint64_t bytes) { return context.Charge(bytes); });
    writer.BeginObject();
    for (uint32_t i = 0; i < of_->index().columns.size(); ++i) {
      writer.Key(of_->index().columns[i].name);
      CTXFS_TRY(Put(reader, sample, i, writer, context));
    }
    writer.EndObject();
    writer.Append("\n");
    return std::move(writer).Take();
  }

  Status Put(SampleReader& reader, const Sample& sample, uint32_t column,
             JsonWriter& writer, const ReadContext& context) const {
    const Column& of = of_->index().columns[column];
    const Value value = reader.ValueOf(sample, column);
    const bool shown =
        of.json != JsonKind::kFile &&
        (of.json != JsonKind::kBytes || value.size <= kMaxShownBytes);
    if (!shown || of.kind == ColumnKind::kArray) {
      return PutFiles(reader, sample.number, column, value, writer, context);
    }
    const Buffer bytes = CTXFS_TRY(ReadValue(reader, value, context));
    const std::string_view text = AsText(bytes.span());
    switch (of.json) {
      case JsonKind::kNumbers:
        return PutNumbers(of, bytes, writer, context);
      case JsonKind::kJson:
        writer.Raw(CTXFS_TRY(sample_shard::PassJson(
            text, sample_shard::JsonForm::kOneLine, context)));
        break;
      case JsonKind::kDigits:
        if (IsNotFinite(text)) {
          writer.Null();
        } else if (IsNumber(text, context)) {
          writer.Raw(text);
        } else {
          writer.Value(text);
        }
        break;
      case JsonKind::kBytes:
        if (!text.empty() && !IsReadableText(bytes.span())) {
          return PutFiles(reader, sample.number, column, value, writer,
                          context);
        }
        writer.Value(text);
        break;
      default:
        writer.Value(text);
    }
    return writer.status();
  }

  static Status PutNumbers(const Column& column, const Buffer& bytes,
                           JsonWriter& writer, const Request& request) {
    std::string text;
    const std::byte* at = bytes.data();
    if (column.shape.empty()) {
      AppendElement(*column.dtype, at, text);
    } else {
      CTXFS_TRY(AppendNested(*column.dtype, column.shape, at, text, request));
    }
    writer.Raw(text);
    return writer.status();
  }

  /// Puts path and size of the file of a value, or of the files of a list.
  Status PutFiles(SampleReader& reader, uint32_t sample, uint32_t column,
                  Value value, JsonWriter& writer,
                  const ReadContext& context) const {
    const Column& of = of_->index().columns[column];
    const std::string suffix = CTXFS_TRY(of_->SuffixOf(column, context));
    const std::string path =
        paths_.OfNumbered(DirectoryOf(of)) + "/" + NumberText(sample);
    if (of.kind != ColumnKind::kList) {
      if (of.kind == ColumnKind::kArray) {
        value.size -= CTXFS_TRY(ArrayOf(reader, of, value)).offset;
      }
      PutFile(path + suffix, value.size, writer);
      return writer.status();
    }
    const std::vector<uint64_t> items =
        CTXFS_TRY(ItemsOf(reader, of, value, context));
    writer.BeginArray();
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      PutFile(path + "/" + NumberText(i) + suffix, items[i + 1] - items[i],
              writer);
    }
    writer.EndArray();
    return writer.status();
  }

  static void PutFile(const std::string& path, uint64_t size,
                      JsonWriter& writer) {
    writer.BeginObject();
    writer.Member("path", path);
    writer.Member("size", size);
    writer.EndObject();
  }

  const std::shared_ptr<const MdsContainer> of_;
  const PathsInTree& paths_;
};

/// Adds the caption or the picture of a value to `shown`, if it is the first.
Status AddShown(SampleReader& reader, const Sample& sample,
                const Column& column, uint32_t number, ShownSample& shown,
                const Request& request) {
  const bool text = column.encoding == "str" && shown.caption.empty();
  const bool picture =
      (column.encoding == "png" || column.encoding == "jpeg") &&
      shown.picture.empty();
  if (!text && !picture) return {};
  const Value value = reader.ValueOf(sample, number);
  const uint64_t most =
      text ? ShowsSamples::kMaxTextBytes : ShowsSamples::kMaxPictureBytes;
  if (value.size > most) {
    if (picture) shown.note = "the picture is too large";
    return {};
  }
  const Buffer bytes = CTXFS_TRY(ReadValue(reader, value, request));
  (text ? shown.caption : shown.picture) = AsText(bytes.span());
  return {};
}

}  // namespace

std::shared_ptr<const FileTable> SampleLines(
    std::shared_ptr<const MdsContainer> of, const PathsInTree& paths) {
  std::vector<uint32_t> starts;
  const uint32_t samples = of->index().samples;
  // A hostile index costs few blocks, however many samples it claims.
  const uint64_t step =
      std::max<uint64_t>(kSamplesPerBlock, samples / kMaxBlocks);
  for (uint64_t i = 0; i < samples; i += step) {
    starts.push_back(static_cast<uint32_t>(i));
  }
  starts.push_back(samples);
  auto source = of->source();
  const auto maker = std::make_shared<const LineMaker>(std::move(of), paths);
  auto lines = std::make_shared<const PartTexts>(PartTexts{
      .noun = "sample",
      .source = std::move(source),
      .bytes = [maker](uint32_t sample) { return maker->Bytes(sample); },
      .text =
          [maker](uint32_t sample, const ReadContext& context) {
            return maker->Line(sample, context);
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
    Result<SampleReader> reader =
        SampleReader::Open(*shards_, shards_->ShardOf(i), context);
    if (!reader || !reader->Verify()) continue;
    const Result<const Sample*> sample = reader->Find(i);
    if (!sample) continue;
    ShownSample shown{.key = NumberText(i)};
    for (uint32_t c = 0; c < index().columns.size(); ++c) {
      CTXFS_TRY(
          AddShown(*reader, **sample, index().columns[c], c, shown, context));
    }
    if (!shown.caption.empty() || !shown.picture.empty()) {
      samples.push_back(std::move(shown));
    }
  }
  return samples;
}

}  // namespace ctxfs::mds
