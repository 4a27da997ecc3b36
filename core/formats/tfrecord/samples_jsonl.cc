// SPDX-License-Identifier: Apache-2.0
//
// views/samples.jsonl (docs/formats/tfrecord.md, section 4).
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json/json_writer.h"
#include "core/container/documents.h"
#include "core/container/foreign/magics.h"
#include "core/container/interfaces/paths_in_parts.h"
#include "core/container/part_texts.h"
#include "core/formats/tfrecord/limits.h"
#include "core/formats/tfrecord/sample.h"
#include "core/formats/tfrecord/tfrecord.h"

namespace ctxfs::tfrecord {
namespace {

// A block of lines ends after kRecordsPerBlock records, or after the record
// with which its records reach kBytesPerBlock bytes.
constexpr uint32_t kRecordsPerBlock = 256;
constexpr uint64_t kBytesPerBlock = limits::kMiB;

using FindPaths = std::function<std::vector<std::string>()>;

/// Writes the line of a record.
class LineWriter {
 public:
  /// `find_paths` must return the paths of the record's files, in the order of
  /// FilesOf.
  LineWriter(const RecordBytes& record, const ReadContext& context,
             FindPaths find_paths)
      : record_(record),
        context_(context),
        find_paths_(std::move(find_paths)) {}

  Result<std::string> Line(const Example& example, RecordKind kind) && {
    json_.PutBlanks();
    if (kind == RecordKind::kExample) {
      CTXFS_TRY(PutFeatures(example.features));
    } else {
      json_.BeginObject();
      json_.Key("context");
      CTXFS_TRY(PutFeatures(example.features));
      json_.Key("feature_lists");
      CTXFS_TRY(PutLists(example.lists));
      json_.EndObject();
    }
    json_.Append("\n");
    return std::move(json_).Take();
  }

 private:
  Status PutFeatures(const std::map<std::string_view, Feature>& features) {
    json_.BeginObject();
    for (const auto& [name, feature] : features) {
      json_.Key(name);
      CTXFS_TRY(PutFeature(feature, /*has_files=*/true));
    }
    json_.EndObject();
    return json_.status();
  }

  Status PutLists(const std::map<std::string_view, FeatureList>& lists) {
    json_.BeginObject();
    for (const auto& [name, list] : lists) {
      files_ += list.IsArray() ? 1U : 0U;
      json_.Key(name);
      json_.BeginArray();
      for (const Feature& step : list.steps) {
        CTXFS_TRY(PutFeature(step, !list.IsArray()));
      }
      json_.EndArray();
    }
    json_.EndObject();
    return json_.status();
  }

  /// `has_files`: whether the feature has files of its own. A step of an array
  /// has none.
  Status PutFeature(const Feature& feature, bool has_files) {
    if (feature.kind == ValueKind::kNone) {
      json_.Null();
      return json_.status();
    }
    json_.BeginArray();
    const bool numbers = feature.HoldsNumbers();
    files_ += numbers && has_files ? 1U : 0U;
    for (const Run& run : feature.runs) {
      CTXFS_TRY(context_.Check());
      numbers ? PutNumbers(feature, run) : PutValue(record_.Of(run.span));
      if (!json_.ok()) break;
    }
    json_.EndArray();
    return json_.status();
  }

  void PutNumbers(const Feature& feature, const Run& run) {
    const auto put = [&](uint64_t bits) {
      // JsonWriter::Value would write large integers as strings, and floats as
      // doubles.
      std::string digits;
      if (feature.kind == ValueKind::kInts) {
        digits = std::to_string(static_cast<int64_t>(bits));
      } else {
        const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
        if (!std::isfinite(value)) return json_.Null();
        AppendFloat(value, digits);
      }
      json_.Raw(digits);
    };
    ForEachNumber(feature.kind, run, record_.Of(run.span), put);
  }

  void PutValue(Bytes value) {
    const size_t file = files_++;
    const bool shown = value.empty() ||
                       (value.size() <= kMaxLineText && IsReadableText(value));
    if (shown) return json_.Value(AsText(value));
    json_.BeginObject();
    json_.Member("path", PathOf(file));
    json_.Member("size", uint64_t{value.size()});
    json_.EndObject();
  }

  std::string PathOf(size_t file) {
    if (!paths_) paths_ = find_paths_();
    return file < paths_->size() ? (*paths_)[file] : "";
  }

  const RecordBytes& record_;
  const ReadContext& context_;
  const FindPaths find_paths_;
  std::optional<std::vector<std::string>> paths_;
  size_t files_ = 0;  // number of files of the features before
  JsonWriter json_{limits::kDecodedBytes,
                   {Code::kLimit, "a line of samples.jsonl is too long"}};
};

std::vector<std::string> PathsOf(const TfRecord& file,
                                 const PathsInParts& in_part, uint32_t record,
                                 std::vector<SampleFile> files) {
  std::vector<std::string> paths = in_part.InPart(
      DirectoryOf({{file.source(), 0, nullptr}, nullptr, std::move(files)}));
  for (std::string& path : paths) {
    path = fmt::format("views/samples/{:06}/{}", record, path);
  }
  return paths;
}

/// The value of "$error" in the line of a record that cannot be read as a
/// sample.
const char* ReasonOf(const Error& error) {
  if (error.code == Code::kChecksum) return "checksum";
  return error.code == Code::kLimit ? "too_many" : "not_an_example";
}

Result<std::string> LineOf(const TfRecord& file, const PathsInParts& in_part,
                           uint32_t record, const ReadContext& context) {
  auto sample = file.ReadSample(record, context);
  if (!sample && !sample.error().Permanent()) return sample.error();
  if (!sample) {
    return fmt::format("{{\"$error\": \"{}\", \"record\": {}}}\n",
                       ReasonOf(sample.error()), record);
  }
  const auto paths = [&] {
    return PathsOf(file, in_part, record, std::move(sample->files));
  };
  return LineWriter(sample->data, context, paths)
      .Line(sample->example, file.kind());
}

/// Returns the first record of each block, and then the number of records.
std::vector<uint32_t> BlockStarts(const TfRecord& file) {
  std::vector<uint32_t> starts;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < file.count(); ++i) {
    if (starts.empty() || i - starts.back() == kRecordsPerBlock ||
        bytes >= kBytesPerBlock) {
      starts.push_back(i);
      bytes = 0;
    }
    bytes += file.At(i).size();
  }
  starts.push_back(file.count());
  return starts;
}

/// Opens the only file of `table`. Fails with kLimit if it is longer than
/// limits::kTableText.
Result<Content> OpenShort(const FileTable& table, const ReadContext& context) {
  Content content = CTXFS_TRY(table.Open(0, context));
  if (content.size() <= limits::kTableText) return content;
  return Error{Code::kLimit, fmt::format("samples.jsonl has more than {} bytes",
                                         limits::kTableText)};
}

std::shared_ptr<const FileTable> SampleLines(
    const std::shared_ptr<const TfRecord>& file, const PathsInParts& in_part) {
  auto texts = std::make_shared<const PartTexts>(PartTexts{
      .noun = "sample",
      .source = file->source(),
      .bytes = [file](uint32_t record) { return file->At(record).size(); },
      .text =
          [file, &in_part](uint32_t record, const ReadContext& context) {
            return LineOf(*file, in_part, record, context);
          }});
  auto joined = JoinedTexts(Role::kViews, "samples.jsonl", std::move(texts),
                            BlockStarts(*file));
  return OpenedFile(Role::kViews, "samples.jsonl",
                    [joined = std::move(joined)](const ReadContext& context) {
                      return OpenShort(*joined, context);
                    });
}

}  // namespace

Container::Tables TfRecord::FilesWithPaths(const PathsInTree& paths) const {
  if (kind_ == RecordKind::kUnknown) return {};
  return {SampleLines(Share(*this), dynamic_cast<const PathsInParts&>(paths))};
}

}  // namespace ctxfs::tfrecord
