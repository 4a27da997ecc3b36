// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/container/facts/config_facts.h"
#include "core/content/content.h"
#include "core/formats/tar/samples.h"

namespace ctxfs::tar {
namespace {

constexpr uint32_t kMembersACheck = 4096;
constexpr size_t kMaxExtensions = 100;
constexpr size_t kCaptions = 3;

/// Returns the caption in a .json member, or the text of a .txt or .caption
/// member; empty for another member, and for one that has no caption, exceeds
/// kMaxTextBytes or cannot be opened.
Result<std::string> CaptionOf(const FileTable& entries, uint32_t member,
                              const SampleName& name,
                              const ReadContext& context) {
  const bool text = name.extension == "txt" || name.extension == "caption";
  if (!text && name.extension != "json") return std::string();
  const Result<Content> content = entries.Open(member, context);
  if (!content && content.error().Permanent()) return std::string();
  if (!content) return content.error();
  if (content->size() > ShowsSamples::kMaxTextBytes) return std::string();
  std::string caption = CTXFS_TRY(ReadAll(*content, context));
  return text ? std::move(caption) : CaptionIn(caption, context);
}

bool IsPictureName(const SampleName& name) {
  return name.extension == "jpg" || name.extension == "jpeg" ||
         name.extension == "png";
}

/// Reads a picture into `sample`. If it cannot be shown, stores the reason in
/// the sample's note.
Status AddPicture(const FileTable& entries, uint32_t member,
                  const ReadContext& context, ShownSample& sample) {
  const Result<Content> content = entries.Open(member, context);
  if (!content && !content.error().Permanent()) return content.error();
  if (!content) {
    sample.note = content.error().Text();
  } else if (content->size() > ShowsSamples::kMaxPictureBytes) {
    sample.note = "it has more than 256 KiB";
  } else {
    Result<std::string> picture = ReadAll(*content, context);
    if (!picture && !picture.error().Permanent()) return picture.error();
    if (picture) sample.picture = *std::move(picture);
    if (!picture) sample.note = picture.error().Text();
  }
  return {};
}

/// Whether the members with one key are a sample. A lone file is one only if it
/// is numbered: many archives have a README.txt or a logo.png.
bool MayBeSample(std::string_view key, size_t members) {
  const char last = key.empty() ? '\0' : key.back();
  return members > 1 || (members == 1 && last >= '0' && last <= '9');
}

/// Reads the caption and the picture of a sample.
Result<ShownSample> ReadSample(const Members& members, const FileTable& entries,
                               const std::vector<uint32_t>& of_sample,
                               const ReadContext& context) {
  ShownSample sample;
  for (const uint32_t member : of_sample) {
    const auto name = ParseSampleName(members.name(member));
    if (!name) continue;
    sample.key = name->key;
    if (sample.caption.empty()) {
      Result<std::string> caption = CaptionOf(entries, member, *name, context);
      if (!caption && !caption.error().Permanent()) return caption.error();
      if (caption) sample.caption = *std::move(caption);
    }
    if (IsPictureName(*name) && sample.picture.empty()) {
      CTXFS_TRY(AddPicture(entries, member, context, sample));
    }
  }
  return sample;
}

/// Returns the value of a key in the outermost mapping of a YAML text: the rest
/// of the key's line, without quotes. Empty if there is none.
std::string_view PlainValue(std::string_view yaml, std::string_view key) {
  while (!yaml.empty()) {
    std::string_view line = yaml.substr(0, yaml.find('\n'));
    yaml.remove_prefix(std::min(yaml.size(), line.size() + 1));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (!line.starts_with(": ")) continue;
    const size_t first = line.find_first_not_of(" '\"", 1);
    if (first == std::string_view::npos) continue;
    return line.substr(first, line.find_last_not_of(" '\"\r") - first + 1);
  }
  return {};
}

}  // namespace

Status AddNemoFacts(const Members& members, const FileTable& entries,
                    const ReadContext& context, Facts& facts) {
  constexpr uint32_t kMaxMembers = 100;  // a real file has a few
  constexpr uint64_t kMaxConfig = limits::kMiB;
  std::optional<uint32_t> config;
  bool weights = false;
  if (members.count() > kMaxMembers) return {};
  for (uint32_t i = 0; i < members.count(); ++i) {
    if (members.superseded(i)) continue;
    const std::string_view path = ShownPath(members.name(i));
    if (path == "model_config.yaml") config = i;
    weights |=
        path == "model_weights.ckpt" || path.starts_with("model_weights/");
  }
  if (!config || !weights) return {};
  facts.Add("contents", "a NeMo model: restore_from of nemo reads it");
  const Result<Content> content = entries.Open(*config, context);
  if (!content && content.error().Permanent()) return {};
  if (!content) return content.error();
  if (content->size() > kMaxConfig) return {};
  const std::string yaml = CTXFS_TRY(ReadAll(*content, context));
  facts.Add("architecture", PlainValue(yaml, "target"));
  facts.Add("nemo_version", PlainValue(yaml, "nemo_version"));
  return {};
}

Status AddSampleFacts(const Members& members, const FileTable& entries,
                      const ReadContext& context, Facts& facts) {
  uint64_t samples = 0;
  std::string last;
  std::map<std::string, uint64_t> extensions;
  for (uint32_t i = 0; i < members.count(); ++i) {
    if (i % kMembersACheck == 0) CTXFS_TRY(context.Check());
    if (!IsOfSample(members, i)) continue;
    const auto name = ParseSampleName(members.name(i));
    if (!name) continue;
    // A sample's members follow each other.
    if (samples == 0 || name->key != last) ++samples;
    last = name->key;
    if (extensions.contains(name->extension) ||
        extensions.size() < kMaxExtensions) {
      ++extensions[name->extension];
    }
  }
  facts.Add("samples", samples, "samples");
  for (const auto& [extension, count] : extensions) {
    facts.Add("extension." + extension, count, "files");
  }
  size_t captions = 0;
  for (uint32_t i = 0; i < members.count() && captions < kCaptions; ++i) {
    if (i % kMembersACheck == 0) CTXFS_TRY(context.Check());
    if (!IsOfSample(members, i) || members.superseded(i)) continue;
    const auto name = ParseSampleName(members.name(i));
    if (!name) continue;
    const std::string caption =
        CTXFS_TRY(CaptionOf(entries, i, *name, context));
    if (caption.empty()) continue;
    facts.Add("caption." + std::string(name->key), caption);
    ++captions;
  }
  return {};
}

Result<std::vector<ShownSample>> FirstSamples(const Members& members,
                                              const FileTable& entries,
                                              size_t most,
                                              const ReadContext& context) {
  std::vector<ShownSample> samples;
  std::string key;
  std::vector<uint32_t> of_key;  // members with `key`, which follow each other
  const auto add = [&]() -> Status {
    if (!MayBeSample(key, of_key.size())) return {};
    ShownSample sample =
        CTXFS_TRY(ReadSample(members, entries, of_key, context));
    const bool shows = !sample.caption.empty() || !sample.picture.empty() ||
                       !sample.note.empty();
    if (shows) samples.push_back(std::move(sample));
    return {};
  };
  for (uint32_t i = 0; i < members.count(); ++i) {
    if (i % kMembersACheck == 0) CTXFS_TRY(context.Check());
    if (!IsOfSample(members, i) || members.superseded(i)) continue;
    const auto name = ParseSampleName(members.name(i));
    if (!name) continue;
    if (name->key != key) {
      CTXFS_TRY(add());
      if (samples.size() == most) return samples;
      key = name->key;
      of_key.clear();
    }
    of_key.push_back(i);
  }
  CTXFS_TRY(add());
  return samples;
}

}  // namespace ctxfs::tar
