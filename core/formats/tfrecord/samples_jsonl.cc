// SPDX-License-Identifier: Apache-2.0
//
// views/samples.jsonl (docs/formats/tfrecord.md, section 4).
#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json/json_writer.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/foreign/magics.h"
#include "core/container/interfaces/paths_in_parts.h"
#include "core/container/part_texts.h"
#include "core/formats/tfrecord/limits.h"
#include "core/formats/tfrecord/sample.h"
#include "core/formats/tfrecord/tfrecord.h"

namespace ctxfs::tfrecord {
namespace {

// Bounds of a block: records, and bytes of them.
constexpr uint32_t kRecordsPerBlock = 256;
constexpr uint64_t kBytesPerBlock = limits::kMiB;

std::string ErrorLine(uint32_t record, const char* reason) {
  return fmt::format("{{\"$error\": \"{}\", \"record\": {}}}\n", reason,
                     record);
}

/// Whether a line has a value itself, instead of the path of its file.
bool IsShownAsText(Bytes value) {
  return value.empty() ||
         (value.size() <= kMaxLineText && IsReadableText(value));
}

/// Writes the line of a record.
class LineWriter {
 public:
  /// `paths` returns those of the record's files, in their order.
  LineWriter(const RecordBytes& record, const ReadContext& context,
             std::function<std::vector<std::string>()> paths)
      : record_(record), context_(context), find_paths_(std::move(paths)) {}

  Result<std::string> Line(const Example& example, RecordKind kind);

 private:
  void PutFeatures(const Features& features);
  void PutLists(const FeatureLists& lists);
  /// `has_files`: whether its values have files of their own.
  void PutFeature(const Feature& feature, bool has_files);
  void PutNumbers(const Feature& feature);
  void PutNumber(ValueKind kind, uint64_t bits);
  void PutValue(Bytes value);
  std::string PathOf(size_t file);

  const RecordBytes& record_;
  const ReadContext& context_;
  const std::function<std::vector<std::string>()> find_paths_;
  std::optional<std::vector<std::string>> paths_;
  Status status_;
  size_t files_ = 0;  // of the features before
  JsonWriter json_{limits::kDecodedBytes,
                   {Code::kLimit, "a line of samples.jsonl is too long"}};
};

std::string LineWriter::PathOf(size_t file) {
  if (!paths_) paths_ = find_paths_();
  return file < paths_->size() ? (*paths_)[file] : "";
}

void LineWriter::PutValue(Bytes value) {
  const size_t file = files_++;
  if (IsShownAsText(value)) return json_.Value(AsText(value));
  json_.BeginObject();
  json_.Member("path", PathOf(file));
  json_.Member("size", uint64_t{value.size()});
  json_.EndObject();
}

void LineWriter::PutNumber(ValueKind kind, uint64_t bits) {
  if (kind == ValueKind::kInts) {
    // Not Value, which makes large ones texts.
    return json_.Raw(std::to_string(static_cast<int64_t>(bits)));
  }
  const auto stored = static_cast<uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &stored, sizeof(value));
  if (!std::isfinite(value)) return json_.Null();
  std::string digits;
  AppendFloat(value, digits);
  json_.Raw(digits);
}

void LineWriter::PutNumbers(const Feature& feature) {
  Numbers numbers = {.kind = feature.kind};
  if (status_) status_ = numbers.Add(feature, record_);
  NumberReader in(numbers, record_);
  uint64_t bits = 0;
  for (uint64_t i = 0; i < feature.count && status_ && json_.ok(); ++i) {
    if (i % Numbers::kPerMark == 0) status_ = context_.Check();
    if (!in.Next(bits)) return;
    PutNumber(feature.kind, bits);
  }
}

void LineWriter::PutFeature(const Feature& feature, bool has_files) {
  if (feature.kind == ValueKind::kNone) return json_.Null();
  json_.BeginArray();
  if (feature.kind == ValueKind::kBytes) {
    ForEachValue(feature, [this](Bytes value) {
      if (status_ && json_.ok()) PutValue(value);
    });
  } else {
    files_ += has_files ? 1 : 0;
    PutNumbers(feature);
  }
  json_.EndArray();
}

void LineWriter::PutFeatures(const Features& features) {
  json_.BeginObject();
  for (const auto& [name, feature] : features) {
    json_.Key(name);
    PutFeature(feature, /*has_files=*/true);
  }
  json_.EndObject();
}

void LineWriter::PutLists(const FeatureLists& lists) {
  json_.BeginObject();
  for (const auto& [name, steps] : lists) {
    const bool regular = IsRegular(steps);
    files_ += regular ? 1 : 0;
    json_.Key(name);
    json_.BeginArray();
    for (const Feature& step : steps) PutFeature(step, !regular);
    json_.EndArray();
  }
  json_.EndObject();
}

Result<std::string> LineWriter::Line(const Example& example, RecordKind kind) {
  json_.PutBlanks();
  if (kind == RecordKind::kExample) {
    PutFeatures(example.features);
  } else {
    json_.BeginObject();
    json_.Key("context");
    PutFeatures(example.features);
    json_.Key("feature_lists");
    PutLists(example.lists);
    json_.EndObject();
  }
  json_.Append("\n");
  CTXFS_TRY(std::move(status_));
  return std::move(json_).Take();
}

/// The lines of a file.
class Lines {
 public:
  Lines(std::shared_ptr<const TfRecord> file, const PathsInParts& paths)
      : file_(std::move(file)), paths_(paths) {}

  Result<std::string> Line(uint32_t record, const ReadContext& context) const;
  /// The first records of blocks, and the number of records.
  std::vector<uint32_t> Starts() const;

 private:
  std::vector<std::string> PathsOf(uint32_t record,
                                   std::vector<SampleFile> files) const;

  const std::shared_ptr<const TfRecord> file_;
  const PathsInParts& paths_;
};

std::vector<std::string> Lines::PathsOf(uint32_t record,
                                        std::vector<SampleFile> files) const {
  const NumberSource from = {file_->source(), nullptr};
  std::vector<std::string> paths = paths_.InPart(
      std::make_shared<const Sample>(from, nullptr, std::move(files)));
  for (std::string& path : paths) {
    path = fmt::format("views/samples/{:06}/{}", record, path);
  }
  return paths;
}

/// The reason of a line for a record that cannot be parsed.
const char* ReasonOf(const Error& error) {
  if (error.code == Code::kChecksum) return "checksum";
  return error.code == Code::kLimit ? "too_many" : "not_an_example";
}

Result<std::string> Lines::Line(uint32_t record,
                                const ReadContext& context) const {
  const auto parsed = file_->Parse(record, kMaxSample, context);
  if (!parsed && !parsed.error().Permanent()) return parsed.error();
  if (!parsed) return ErrorLine(record, ReasonOf(parsed.error()));
  auto files =
      CTXFS_TRY(FilesOf(parsed->example, file_->kind(), parsed->data, context));
  if (!files) return ErrorLine(record, "too_many");
  LineWriter writer(parsed->data, context,
                    [&] { return PathsOf(record, *std::move(files)); });
  return writer.Line(parsed->example, file_->kind());
}

std::vector<uint32_t> Lines::Starts() const {
  std::vector<uint32_t> starts;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < file_->count(); ++i) {
    if (starts.empty() || i - starts.back() == kRecordsPerBlock ||
        bytes >= kBytesPerBlock) {
      starts.push_back(i);
      bytes = 0;
    }
    bytes += file_->At(i).size();
  }
  starts.push_back(file_->count());
  return starts;
}

/// The only file of `table`, unless it is longer than any text may be.
Result<Content> OpenShort(const FileTable& table, const ReadContext& context) {
  Content content = CTXFS_TRY(table.Open(0, context));
  if (content.size() <= limits::kTableText) return content;
  return Error{Code::kLimit, fmt::format("samples.jsonl has more than {} bytes",
                                         limits::kTableText)};
}

}  // namespace

std::shared_ptr<const FileTable> SampleLines(
    const std::shared_ptr<const TfRecord>& file, const PathsInTree& paths) {
  const auto* const in_parts = dynamic_cast<const PathsInParts*>(&paths);
  const auto lines = std::make_shared<const Lines>(file, *in_parts);
  auto texts = std::make_shared<const PartTexts>(PartTexts{
      .noun = "sample",
      .source = file->source(),
      .bytes = [file](uint32_t record) { return file->At(record).size(); },
      .text =
          [lines](uint32_t record, const ReadContext& context) {
            return lines->Line(record, context);
          }});
  auto joined = JoinedTexts(Role::kViews, "samples.jsonl", std::move(texts),
                            lines->Starts());
  return OpenedFile(Role::kViews, "samples.jsonl",
                    [joined = std::move(joined)](const ReadContext& context) {
                      return OpenShort(*joined, context);
                    });
}

Container::Tables TfRecord::FilesWithPaths(const PathsInTree& paths) const {
  if (kind_ == RecordKind::kUnknown) return {};
  return {SampleLines(Share(*this), paths)};
}

}  // namespace ctxfs::tfrecord
