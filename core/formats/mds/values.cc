// SPDX-License-Identifier: Apache-2.0
//
// Single values as files, and lists of pictures as directories
// (docs/formats/mds.md, section 4).
#include <fmt/core.h>

#include <utility>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/file_set.h"
#include "core/container/part.h"
#include "core/container/unreadable.h"
#include "core/formats/mds/mds.h"
#include "core/formats/mds/sample_reader.h"

namespace ctxfs::mds {
namespace {

struct List {
  ShardFile file;
  std::vector<uint64_t> items;  // offsets of items, and the end of the last
  std::string suffix;

  uint64_t SizeOf(uint32_t item) const { return items[item + 1] - items[item]; }
};

std::shared_ptr<const FileTable> ItemFiles(List list) {
  const auto of = std::make_shared<const List>(std::move(list));
  return MakeTable(
      {.count = static_cast<uint32_t>(of->items.size() - 1),
       .path = [of](uint32_t item, std::string& scratch) -> std::string_view {
         scratch = NumberText(item) + of->suffix;
         return scratch;
       },
       .open = [of](uint32_t item,
                    const ReadContext& /*context*/) -> Result<Content> {
         return of->file.Part(of->items[item], of->SizeOf(item));
       },
       .facts = [of](uint32_t item) { return FileFacts{of->SizeOf(item)}; }});
}

/// Opens the directory of a list. Fails if its sample or the list is damaged.
Result<std::shared_ptr<const Container>> TryList(const MdsContainer& set,
                                                 uint32_t column,
                                                 uint32_t sample,
                                                 const ReadContext& context) {
  SampleReader reader =
      CTXFS_TRY(SampleReader::OpenAt(set.shards(), sample, context));
  std::vector<uint64_t> items = CTXFS_TRY(reader.ItemsOf(column));
  return std::shared_ptr<const Container>(std::make_shared<const Part>(
      set.source(), ItemFiles({reader.file(), std::move(items),
                               set.index().columns[column].suffix})));
}

}  // namespace

std::string NumberText(uint64_t number) { return fmt::format("{:06}", number); }

std::string PlaceOf(const Column& column, uint32_t sample) {
  return fmt::format("column {}, sample {}", Quote(column.name), sample);
}

Result<Content> MdsContainer::OpenValue(uint32_t column, uint32_t sample,
                                        const ReadContext& context) const {
  SampleReader reader =
      CTXFS_TRY(SampleReader::OpenAt(*shards_, sample, context));
  const Result<ShownValue> value = reader.ShownOf(column);
  if (value) return reader.file().Part(value->offset, value->size);
  Error error = value.error();
  error.offset = reader.ValueOf(column).offset;
  return Within(PlaceOf(index().columns[column], sample), std::move(error));
}

Result<std::shared_ptr<const Container>> MdsContainer::OpenList(
    uint32_t column, uint32_t sample, const ReadContext& context) const {
  auto list = TryList(*this, column, sample, context);
  if (list || !list.error().Permanent()) return list;
  return UnreadableContainer(
      std::make_shared<const SliceSource>(source(), 0, 0),
      Within(PlaceOf(index().columns[column], sample), list.error()));
}

}  // namespace ctxfs::mds
