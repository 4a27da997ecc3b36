// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graph/cowrie_files.h"

#include <fmt/core.h>

#include <string>

#include "core/base/json/json.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::graph {
namespace {

Result<std::string> JsonOf(const shard::ShardContainer& shard, uint32_t entry,
                           const ReadContext& context) {
  const Content content = CTXFS_TRY(shard.OpenEntry(entry, context));
  if (content.size() > cowrie::kMaxBytes) {
    return Error{
        Code::kLimit,
        fmt::format("a cowrie value of {} bytes is over the limit of {}",
                    content.size(), cowrie::kMaxBytes)};
  }
  const std::string bytes = CTXFS_TRY(ReadAll(content, context));
  const Json value =
      CTXFS_TRY(cowrie::DecodeCowrie(AsBytes(bytes), context.interrupt()));
  return JsonLine(value) + "\n";
}

}  // namespace

std::shared_ptr<const FileTable> CowrieFiles(
    std::shared_ptr<const shard::ShardContainer> shard) {
  const shard::ShardContainer& graph = *shard;
  return MakeTable({.placement = {.role = Role::kViews, .directory = "json"},
                    .count = graph.entry_count(),
                    .path = PathsOfEntries(
                        graph.EntryTable(),
                        [&graph](uint32_t entry) {
                          constexpr uint16_t kCowrieType = 3;
                          return !graph.EntryLocked(entry) &&
                                 graph.Record(entry).content_type ==
                                     kCowrieType;
                        },
                        ".json"),
                    .open =
                        [shard, owner = NewOwner()](
                            uint32_t entry, const ReadContext& context) {
                          return CachedText(
                              {owner, entry}, shard->source(),
                              [shard, entry](const ReadContext& request) {
                                return JsonOf(*shard, entry, request);
                              },
                              context);
                        },
                    .describe =
                        [&graph](uint32_t entry, const ReadContext& context) {
                          EntryInfo info = graph.Describe(entry, context);
                          info.kind = "json";
                          info.computed = true;
                          info.shape.reset();
                          info.dtype.clear();
                          return info;
                        },
                    .owner = shard});
}

}  // namespace ctxfs::graph
