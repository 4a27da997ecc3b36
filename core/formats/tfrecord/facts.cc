// SPDX-License-Identifier: Apache-2.0
//
// The facts about a TFRecord that `ctxfs info` and a report show
// (docs/formats/tfrecord.md, section 5).
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/json/json.h"
#include "core/container/facts/config_facts.h"
#include "core/container/foreign/magics.h"
#include "core/formats/tfrecord/limits.h"
#include "core/formats/tfrecord/tfrecord.h"

namespace ctxfs::tfrecord {
namespace {

constexpr uint32_t kSamplesLookedAt = 100;

std::string KindOf(const Feature& feature) {
  constexpr std::string_view kTexts[] = {"none", "bytes", "float", "int64"};
  const std::string_view kind = kTexts[static_cast<size_t>(feature.kind)];
  if (feature.kind == ValueKind::kNone) return std::string(kind);
  return fmt::format("{} [{}]", kind, feature.count);
}

void AddFeatures(std::string_view prefix,
                 const std::map<std::string_view, Feature>& features,
                 Facts& facts) {
  for (const auto& [name, feature] : features) {
    facts.Add(std::string(prefix) + std::string(name), KindOf(feature));
  }
}

void AddLists(const std::map<std::string_view, FeatureList>& lists,
              Facts& facts) {
  for (const auto& [name, list] : lists) {
    const std::vector<Feature>& steps = list.steps;
    facts.Add(
        "feature_list." + std::string(name),
        fmt::format("{} [{}]", steps.empty() ? "none" : KindOf(steps.front()),
                    steps.size()));
  }
}

/// Whether the name of a file matches the pattern of file names that a data set
/// of TensorFlow Datasets states for `split`.
bool IsOfSplit(std::string_view file, const Json& split,
               const std::string& data_set) {
  constexpr std::string_view kShard = "{SHARD_X_OF_Y}";
  std::string pattern = TextAt(split, "filepathTemplate");
  if (pattern.empty()) {
    pattern = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";
  }
  const std::pair<std::string_view, std::string> values[] = {
      {"{DATASET}", data_set},
      {"{SPLIT}", TextAt(split, "name")},
      {"{FILEFORMAT}", "tfrecord"}};
  for (const auto& [name, value] : values) {
    const size_t at = pattern.find(name);
    if (at != std::string::npos) pattern.replace(at, name.size(), value);
  }
  const size_t shard = pattern.find(kShard);
  if (shard == std::string::npos) return file == pattern;
  const std::string_view before = std::string_view(pattern).substr(0, shard);
  const std::string_view after =
      std::string_view(pattern).substr(shard + kShard.size());
  return file.size() > before.size() + after.size() &&
         file.starts_with(before) && file.ends_with(after);
}

void AddDataSet(std::string_view file, const Json& info, Facts& facts) {
  const std::string name = TextAt(info, "name");
  facts.Add("dataset.name", name);
  facts.Add("dataset.version", TextAt(info, "version"));
  const Json* const splits = MemberAt(info, "splits");
  if (splits == nullptr || !splits->is_array()) return;
  for (const Json& split : *splits) {
    if (IsOfSplit(file, split, name)) {
      facts.Add("dataset.split", TextAt(split, "name"));
      return;
    }
  }
}

bool IsCaption(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {
      "caption", "text", "title", "label", "sentence"};
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return std::find(kNames.begin(), kNames.end(), last) != kNames.end();
}

/// Uses a value of a feature as the caption or the picture of `sample`, if it
/// is suitable and `sample` has none yet.
void AddShown(std::string_view name, Bytes value, ShownSample& sample) {
  if (sample.caption.empty() && IsCaption(name) &&
      value.size() <= ShowsSamples::kMaxTextBytes && IsReadableText(value)) {
    sample.caption = AsText(value);
  }
  const bool fits = value.size() <= ShowsSamples::kMaxPictureBytes;
  if (!sample.picture.empty() || !fits) return;
  const std::string_view extension = ExtensionOf(value);
  if (extension == "jpg" || extension == "png") {
    sample.picture = AsText(value);
  }
}

}  // namespace

Status TfRecord::AddFacts(const ReadContext& context, Facts& facts) const {
  facts.Add("records", count(), "records");
  facts.Add("content", KindText(kind_));
  if (!options_.alone) {
    const Json info =
        CTXFS_TRY(ReadBeside(*source(), "dataset_info.json", context));
    if (info.is_object()) AddDataSet(source()->name(), info, facts);
  }
  for (uint32_t i = 0; i < count() && kind_ != RecordKind::kUnknown; ++i) {
    if (At(i).size() == 0) continue;
    const auto parsed = Parse(i, kMaxExamined, context);
    if (!parsed && !parsed.error().Permanent()) return parsed.error();
    if (!parsed) return {};
    AddFeatures("feature.", parsed->example.features, facts);
    AddLists(parsed->example.lists, facts);
    return {};
  }
  return {};
}

Result<std::vector<ShownSample>> TfRecord::FirstSamples(
    size_t most, const ReadContext& context) const {
  std::vector<ShownSample> samples;
  if (kind_ == RecordKind::kUnknown) return samples;
  const uint32_t end = std::min(count(), kSamplesLookedAt);
  for (uint32_t i = 0; i < end && samples.size() < most; ++i) {
    CTXFS_TRY(context.Check());
    const auto parsed = Parse(i, kMaxTextBytes + 4 * kMaxPictureBytes, context);
    if (!parsed && !parsed.error().Permanent()) return parsed.error();
    if (!parsed) continue;
    ShownSample sample{.key = fmt::format("{:06}", i)};
    for (const auto& [name, feature] : parsed->example.features) {
      if (feature.kind != ValueKind::kBytes) continue;
      for (const Run& run : feature.runs) {
        AddShown(name, parsed->data.Of(run.span), sample);
      }
    }
    if (sample.caption.empty() && sample.picture.empty()) continue;
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace ctxfs::tfrecord
