// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graph/cowrie_files.h"

#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/container/entry_files.h"
#include "core/formats/cowrie/cowrie.h"

namespace ctxfs {
namespace {

class CowrieJson final : public EntryFiles {
 public:
  explicit CowrieJson(std::shared_ptr<const ShardContainer> shard)
      : EntryFiles(shard, "views/json", ".json"), shard_(std::move(shard)) {}

  bool MayHave(uint32_t entry) const override {
    constexpr uint16_t kCowrieType = 3;
    return !shard_->EntryLocked(entry) &&
           shard_->Record(entry).content_type == kCowrieType;
  }

  bool SizeIsCheap(uint32_t /*entry*/) const override { return false; }

  Result<uint64_t> Size(uint32_t entry,
                        const ReadContext& context) const override {
    const Result<Content> made = Open(entry, context);
    if (made) return made->size();
    if (made.error().Permanent()) return uint64_t{0};
    return made.error();
  }

  Result<Content> Open(uint32_t entry,
                       const ReadContext& context) const override {
    const Result<Content> content = shard_->OpenEntry(entry, context);
    if (!content) return content.error();
    if (content->size() > limits::kCowrieBytes) {
      return Error{
          Code::kLimit,
          "a cowrie value of " + std::to_string(content->size()) + " bytes"};
    }
    const Result<std::string> bytes = ReadAll(*content, context);
    if (!bytes) return bytes.error();
    const Result<Json> value = DecodeCowrie(AsBytes(*bytes));
    if (!value) return value.error();
    auto text = std::make_shared<const std::string>(
        value->dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    const uint64_t size = text->size();
    Content made;
    made.Append(Literal{std::move(text)}, size);
    return made;
  }

  EntryInfo Describe(uint32_t entry) const override {
    EntryInfo info = shard_->Describe(entry);
    info.kind = "json";
    info.shape.reset();
    info.dtype.clear();
    return info;
  }

 private:
  std::shared_ptr<const ShardContainer> shard_;
};

}  // namespace

std::shared_ptr<const DerivedFiles> CowrieFiles(
    std::shared_ptr<const ShardContainer> shard) {
  return std::make_shared<const CowrieJson>(std::move(shard));
}

}  // namespace ctxfs
