// SPDX-License-Identifier: Apache-2.0
//
// The files of a graph: sections/, arrays/, tables/ and meta.json
// (docs/sjgn.md, section 3).
#include <iterator>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/listed_files.h"
#include "core/content/bit_bytes.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/graph/sjgn.h"

namespace ctxfs::graph {
namespace {

constexpr uint64_t kMetaKey = uint64_t{1}
                              << 63;  // of meta sections in the cache

const char* KindName(uint64_t kind) {
  constexpr const char* kNames[] = {"meta",    "node_table", "edge_table",
                                    "feature", "split",      "aux"};
  return kind < std::size(kNames) ? kNames[kind] : "unknown";
}

}  // namespace

Content Graph::Piece(uint64_t offset, uint64_t length) const {
  return {Range{data_, offset, nullptr}, length};
}

std::shared_ptr<const Block> Graph::TableBlock(size_t table,
                                               SjgnWanted wanted) const {
  const Key key{owner_, 2 * table + (wanted == SjgnWanted::kIds ? 1 : 0)};
  return DecodeSjgnTable(key, data_, tables_[table], wanted);
}

Result<Content> Graph::OpenLines(size_t table,
                                 const ReadContext& context) const {
  auto block = TableBlock(table, SjgnWanted::kLines);
  const Result<BlockCache::Pinned> text = context.Get(*block);
  if (!text) return text.error();
  return Content(Decoded{std::move(block), 0}, (*text)->size());
}

void Graph::AddIds(uint32_t table) {
  const SjgnSection& section = tables_[table];
  SjgnArray array;
  array.name = section.name + (section.edges ? "/src" : "/id");
  array.shape = {section.events};
  array.size = section.events * sizeof(int64_t);
  array.table = table;
  ids_.push_back(array);
  if (!section.edges) return;
  array.name = section.name + "/dst";
  array.offset = array.size;
  ids_.push_back(std::move(array));
}

Result<Content> Graph::OpenFile(const Section& section,
                                const ReadContext& /*context*/) const {
  return Piece(section.offset, section.length);
}

EntryInfo Graph::DescribeFile(const Section& section) const {
  EntryInfo info;
  info.name = section.name;
  info.kind = KindName(section.kind);
  info.extra["encoding"] = section.encoding;
  info.stored_size = section.length;
  info.offset = section.offset;
  info.verified = "none";
  return info;
}

Result<Content> Graph::OpenFile(const SjgnArray& array,
                                const ReadContext& context) const {
  if (array.bits) {
    return Content(
        Computed{std::make_shared<const BitBytes>(data_, array.offset)},
        array.size);
  }
  if (array.table == SjgnArray::kStored) {
    return Piece(array.offset, array.size);
  }
  auto block = TableBlock(array.table, SjgnWanted::kIds);
  const Result<BlockCache::Pinned> ids = context.Get(*block);
  if (!ids) return ids.error();
  // The number of events was found from their lengths alone.
  const SjgnSection& table = tables_[array.table];
  if ((*ids)->size() != array.size * (table.edges ? 2 : 1)) {
    return Error{Code::kCorrupt, "the events are not as many as their lengths",
                 table.offset};
  }
  return Content(Decoded{std::move(block), array.offset}, array.size);
}

EntryInfo Graph::DescribeFile(const SjgnArray& array) const {
  EntryInfo info;
  info.kind = "array";
  info.verified = "none";
  info.dtype = DTypeName(array.dtype);
  info.shape = array.shape;
  if (array.table == SjgnArray::kStored) {
    info.stored_size = array.bits ? (array.size + 7) / 8 : array.size;
    info.offset = array.offset;
  } else {
    info.codec = "cowrie";
    info.computed = true;
    info.stored_size = tables_[array.table].length;
    info.offset = tables_[array.table].offset;
  }
  return info;
}

/// tables/NAME.jsonl: the events of a table, one on each line.
class Graph::Lines final : public FileTable {
 public:
  explicit Lines(std::shared_ptr<const Graph> graph)
      : FileTable({.directory = "tables"}), graph_(std::move(graph)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(graph_->tables_.size());
  }
  std::optional<std::string_view> Path(uint32_t table,
                                       std::string& scratch) const override {
    scratch = graph_->tables_[table].name;
    return scratch += ".jsonl";
  }
  Result<Content> Open(uint32_t table,
                       const ReadContext& context) const override {
    return graph_->OpenLines(table, context);
  }
  Cost exists_cost() const override { return Cost::kDecode; }

 private:
  const std::shared_ptr<const Graph> graph_;
};

class Graph::Ids final : public ListedFiles<Graph, SjgnArray> {
 public:
  using ListedFiles::ListedFiles;

  Cost exists_cost() const override { return Cost::kDecode; }
};

Container::Tables Graph::Files() const {
  const Placement arrays{.directory = "arrays"};
  Tables files = {
      ListFiles({.role = Role::kRawEntries, .directory = "sections"},
                Share(*this), Share(sections_)),
      ListFiles(arrays, Share(*this), Share(arrays_)),
      std::make_shared<const Lines>(Share(*this)),
      std::make_shared<const Ids>(arrays, Share(*this), Share(ids_))};
  for (const Section& section : sections_) {
    if (section.kind == kMeta) files.push_back(MetaFile(section));
  }
  return files;
}

Exports Graph::Export() const {
  Exports exports;
  if (arrays_.empty() && tables_.empty()) return exports;
  exports.arrays = [self = Share(*this)](const ReadContext& context) {
    return self->AllArrays(context);
  };
  return exports;
}

std::vector<ArrayInfo> Graph::AllArrays(const ReadContext& context) const {
  std::vector<ArrayInfo> all;
  const auto add = [&](const SjgnArray& array) {
    all.push_back({array.name, array.dtype, array.shape,
                   [self = Share(*this), &array](const ReadContext& request) {
                     return self->OpenFile(array, request);
                   },
                   /*opening_reads=*/array.table != SjgnArray::kStored});
  };
  for (const SjgnArray& array : arrays_) add(array);
  uint32_t unlisted = SjgnArray::kStored;  // a table without ids
  for (const SjgnArray& array : ids_) {
    if (array.table == unlisted) continue;
    // After an interrupt nobody uses the result. A failed read says nothing
    // about the table, and its arrays fail when they are read.
    if (!context.Check()) return all;
    const Result<Content> ids = OpenFile(array, context);
    if (!ids && ids.error().Permanent()) {
      unlisted = array.table;
    } else {
      add(array);
    }
  }
  return all;
}

/// meta.json. Its encoding is found from its first bytes, because writers leave
/// the stored encoding 0.
std::shared_ptr<const FileTable> Graph::MetaFile(const Section& section) const {
  std::byte head[2] = {};
  const bool packed =
      section.length > sizeof(head) && section.length <= limits::kJsonBytes &&
      data_->ReadAt(section.offset, head) && cowrie::LooksLikeCowrie(head);
  if (!packed) {
    return FixedFile(Role::kPrimary, "meta.json",
                     Piece(section.offset, section.length));
  }
  return TextDocument(
      Role::kPrimary, "meta.json", {owner_, kMetaKey + section.offset}, data_,
      [data = data_,
       section](const ReadContext& context) -> Result<std::string> {
        const Result<Buffer> bytes = ReadBuffer(
            *data, section.offset, section.length, "meta", context.interrupt());
        if (!bytes) return bytes.error();
        const Result<Json> meta =
            cowrie::DecodeCowrie(bytes->span(), context.interrupt());
        if (!meta) return meta.error();
        return FormatJson(*meta);
      });
}

}  // namespace ctxfs::graph
