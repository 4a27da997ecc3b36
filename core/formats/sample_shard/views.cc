// SPDX-License-Identifier: Apache-2.0
//
// Shows samples as JSON (docs/formats/sampleshard.md, section 5): views/json/
// and views/samples.jsonl.
#include <algorithm>
#include <utility>

#include "core/container/file_set.h"
#include "core/container/part_texts.h"
#include "core/formats/sample_shard/sample_shard.h"

namespace ctxfs::sample_shard {
namespace {

/// Returns views/json/NAME.json, a file for each sample.
std::shared_ptr<const FileTable> JsonFiles(
    const std::shared_ptr<const SampleShard>& shard) {
  // The reference's README, but not its code, names samples sample/000007, for
  // example. A file with such a name may be a sample, too.
  const auto may_have = [shard](uint32_t entry) {
    const std::string_view name = shard->EntryName(entry).value_or("");
    return shard->IsSample(entry) ||
           (name.starts_with("sample/") && SampleId(name.substr(7)));
  };
  auto texts = std::make_shared<const PartTexts>(PartTexts{
      .noun = "sample",
      .source = shard->source(),
      .bytes = [shard](uint32_t entry) { return shard->EntrySize(entry); },
      .text =
          [shard](uint32_t entry, const ReadContext& context) {
            return shard->Text(entry, context);
          }});
  return MakeTable(
      {.placement = {.role = Role::kViews, .directory = "json"},
       .count = shard->entry_count(),
       .path = PathsOfEntries(shard->EntryTable(), may_have, ".json"),
       .open = [texts = std::move(texts), owner = NewOwner()](
                   uint32_t entry, const ReadContext& context) {
         return PartText(texts, Key{owner, entry}, entry, context);
       }});
}

/// Returns views/samples.jsonl; `order` must not be empty.
std::shared_ptr<const FileTable> Lines(
    const std::shared_ptr<const SampleShard>& shard,
    std::vector<uint32_t> order) {
  constexpr size_t kSamplesABlock = 256;
  std::vector<uint32_t> starts;
  for (size_t i = 0; i < order.size(); i += kSamplesABlock) {
    starts.push_back(static_cast<uint32_t>(i));
  }
  starts.push_back(static_cast<uint32_t>(order.size()));
  const auto samples =
      std::make_shared<const std::vector<uint32_t>>(std::move(order));
  auto lines = std::make_shared<const PartTexts>(PartTexts{
      .noun = "sample",
      .source = shard->source(),
      .bytes = [shard, samples](
                   uint32_t i) { return shard->EntrySize((*samples)[i]); },
      .text =
          [shard, samples](uint32_t i, const ReadContext& context) {
            return shard->Line((*samples)[i], context);
          }});
  return JoinedTexts(Role::kViews, "samples.jsonl", std::move(lines),
                     std::move(starts));
}

}  // namespace

Container::Tables SampleViews(const std::shared_ptr<const SampleShard>& shard) {
  Container::Tables views = {JsonFiles(shard)};
  std::vector<uint32_t> order = shard->SamplesInOrder();
  if (!order.empty()) views.push_back(Lines(shard, std::move(order)));
  return views;
}

}  // namespace ctxfs::sample_shard
