// SPDX-License-Identifier: Apache-2.0
//
// Lists of pictures: a directory for each value (docs/formats/mds.md, section
// 4).
#include <fmt/core.h>

#include <utility>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/file_set.h"
#include "core/container/unreadable.h"
#include "core/formats/mds/columns.h"
#include "core/formats/mds/mds.h"

namespace ctxfs::mds {
namespace {

class List final : public Container {
 public:
  List(SourcePtr source, ShardFile file, std::vector<uint64_t> items,
       std::string suffix)
      : Container(std::move(source), /*part=*/true),
        file_(std::move(file)),
        items_(std::move(items)),
        suffix_(std::move(suffix)) {}

  Tables Files() const override {
    return {MakeTable(
        {.count = static_cast<uint32_t>(items_.size() - 1),
         .path = [this](uint32_t item,
                        std::string& scratch) -> std::string_view {
           scratch = NumberText(item) + suffix_;
           return scratch;
         },
         .open = [this](uint32_t item,
                        const ReadContext& /*context*/) -> Result<Content> {
           return file_.Part(items_[item], SizeOf(item));
         },
         .facts = [this](uint32_t item) { return FileFacts{SizeOf(item)}; },
         .owner = Share(*this)})};
  }

 private:
  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info["format"] = "mds list";
  }
  uint64_t SizeOf(uint32_t item) const {
    return items_[item + 1] - items_[item];
  }

  const ShardFile file_;
  const std::vector<uint64_t> items_;  // where they begin, and the last end
  const std::string suffix_;
};

}  // namespace

std::string NumberText(uint64_t number) { return fmt::format("{:06}", number); }

std::shared_ptr<const Container> ListOf(SourcePtr source, ShardFile file,
                                        std::vector<uint64_t> items,
                                        std::string suffix) {
  return std::make_shared<const List>(std::move(source), std::move(file),
                                      std::move(items), std::move(suffix));
}

Result<std::shared_ptr<const Container>> MdsContainer::OpenList(
    uint32_t column, uint32_t sample, const ReadContext& context) const {
  const Column& of = index().columns[column];
  const auto open = [&]() -> Result<std::shared_ptr<const Container>> {
    SampleReader reader = CTXFS_TRY(
        SampleReader::Open(*shards_, shards_->ShardOf(sample), context));
    const Sample* const found = CTXFS_TRY(reader.Find(sample));
    std::vector<uint64_t> items =
        CTXFS_TRY(ItemsOf(reader, of, reader.ValueOf(*found, column), context));
    return ListOf(source(), reader.file(), std::move(items), of.suffix);
  };
  auto list = open();
  if (list || !list.error().Permanent()) return list;
  return UnreadableContainer(
      std::make_shared<const SliceSource>(source(), 0, 0),
      Within(fmt::format("column {}, sample {}", Quote(of.name), sample),
             list.error()));
}

}  // namespace ctxfs::mds
