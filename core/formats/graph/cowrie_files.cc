// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graph/cowrie_files.h"

#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/container/documents.h"
#include "core/container/entry_file_table.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::graph {
namespace {

class CowrieJson final : public EntryFileTable {
 public:
  explicit CowrieJson(std::shared_ptr<const shard::ShardContainer> shard)
      : EntryFileTable(shard->EntryTable(), Role::kViews, "json", ".json"),
        shard_(std::move(shard)) {}

  bool MayHave(uint32_t entry) const override {
    constexpr uint16_t kCowrieType = 3;
    return !shard_->EntryLocked(entry) &&
           shard_->Record(entry).content_type == kCowrieType;
  }

  Result<Content> Open(uint32_t entry,
                       const ReadContext& context) const override {
    return CachedText(
        {owner_, entry}, shard_->source(),
        [shard = shard_, entry](const ReadContext& request) {
          return Text(*shard, entry, request);
        },
        context);
  }

  std::optional<EntryInfo> Describe(
      uint32_t entry, const ReadContext& /*context*/) const override {
    EntryInfo info = shard_->Describe(entry);
    info.kind = "json";
    info.computed = true;
    info.shape.reset();
    info.dtype.clear();
    return info;
  }

 private:
  static Result<std::string> Text(const shard::ShardContainer& shard,
                                  uint32_t entry, const ReadContext& context) {
    const Result<Content> content = shard.OpenEntry(entry, context);
    if (!content) return content.error();
    if (content->size() > cowrie::kMostBytes) {
      return Error{Code::kLimit, "a cowrie value of " +
                                     std::to_string(content->size()) +
                                     " bytes is over the limit of " +
                                     std::to_string(cowrie::kMostBytes)};
    }
    const Result<std::string> bytes = ReadAll(*content, context);
    if (!bytes) return bytes.error();
    const Result<Json> value =
        cowrie::DecodeCowrie(AsBytes(*bytes), context.interrupt());
    if (!value) return value.error();
    return JsonLine(*value) + "\n";
  }

  const std::shared_ptr<const shard::ShardContainer> shard_;
  const uint64_t owner_ = NewOwner();
};

}  // namespace

std::shared_ptr<const FileTable> CowrieFiles(
    std::shared_ptr<const shard::ShardContainer> shard) {
  return std::make_shared<const CowrieJson>(std::move(shard));
}

}  // namespace ctxfs::graph
