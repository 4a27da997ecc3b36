// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/facts.h"

#include <map>
#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/container/config_facts.h"
#include "core/content/content.h"
#include "core/formats/tar/samples.h"

namespace ctxfs::tar {
namespace {

constexpr uint32_t kMembersACheck = 4096;
constexpr size_t kMostExtensions = 100;
constexpr size_t kCaptions = 3;
constexpr uint64_t kMostCaptionBytes = 64 * limits::kKiB;

/// Adds the caption that the member may have. Returns whether there is one.
Result<bool> AddCaption(const FileTable& entries, uint32_t member,
                        const SampleName& name, const ReadContext& context,
                        Facts& facts) {
  const bool text = name.extension == "txt" || name.extension == "caption";
  if (!text && name.extension != "json") return false;
  const Result<Content> content = entries.Open(member, context);
  if (!content && content.error().Permanent()) return false;
  if (!content) return content.error();
  if (content->size() > kMostCaptionBytes) return false;
  std::string caption = CTXFS_TRY(ReadAll(*content, context));
  if (!text) caption = CaptionIn(caption);
  if (caption.empty()) return false;
  facts.Add("caption." + std::string(name.key), caption);
  return true;
}

}  // namespace

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
        extensions.size() < kMostExtensions) {
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
    captions += CTXFS_TRY(AddCaption(entries, i, *name, context, facts));
  }
  return {};
}

}  // namespace ctxfs::tar
