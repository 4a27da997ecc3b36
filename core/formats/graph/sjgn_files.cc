// SPDX-License-Identifier: Apache-2.0
//
// The files of a graph: sections/, arrays/, tables/ and meta.json
// (docs/sjgn.md, section 3).
#include <iterator>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/container/documents.h"
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

/// Whether a file exists, given the result of opening it. Passes on errors that
/// may be temporary.
Result<bool> Opens(const Result<Content>& opened) {
  if (opened) return true;
  if (opened.error().Permanent()) return false;
  return opened.error();
}

}  // namespace

Content Graph::Piece(uint64_t offset, uint64_t length) const {
  return {Range{data_, offset, nullptr}, length};
}

Content Graph::Elements(const SjgnArray& array) const {
  if (!array.bits) return Piece(array.offset, array.size);
  return {Computed{std::make_shared<const BitBytes>(data_, array.offset)},
          array.size};
}

std::shared_ptr<const Block> Graph::LinesBlock(size_t table) const {
  return DecodeSjgnTable({owner_, 2 * table}, data_, tables_[table],
                         SjgnWanted::kLines);
}
std::shared_ptr<const Block> Graph::IdsBlock(size_t table) const {
  return DecodeSjgnTable({owner_, 2 * table + 1}, data_, tables_[table],
                         SjgnWanted::kIds);
}

Result<Content> Graph::OpenLines(size_t table,
                                 const ReadContext& context) const {
  auto block = LinesBlock(table);
  const Result<BlockCache::Pinned> text = context.Get(*block);
  if (!text) return text.error();
  return Content(Decoded{std::move(block), 0}, (*text)->size());
}

std::vector<SjgnArray> Graph::IdsOf(size_t table) const {
  const SjgnSection& section = tables_[table];
  const uint64_t size = section.events * sizeof(int64_t);
  SjgnArray first;
  first.name = section.name + (section.edges ? "/src" : "/id");
  first.shape = {section.events};
  first.size = size;
  if (!section.edges) return {first};
  SjgnArray second = first;
  second.name = section.name + "/dst";
  second.offset = size;
  return {first, second};
}

Result<Content> Graph::OpenIds(size_t table, const SjgnArray& array,
                               const ReadContext& context) const {
  auto block = IdsBlock(table);
  const Result<BlockCache::Pinned> ids = context.Get(*block);
  if (!ids) return ids.error();
  // The number of events was found from their lengths alone.
  if ((*ids)->size() != IdsOf(table).size() * array.size) {
    return Error{Code::kCorrupt, "the events are not as many as their lengths",
                 tables_[table].offset};
  }
  return Content(Decoded{std::move(block), array.offset}, array.size);
}

/// .ctxfs/raw/sections/NAME: the entries, as stored.
class Graph::Sections final : public FileTable {
 public:
  explicit Sections(std::shared_ptr<const Graph> graph)
      : FileTable({.role = Role::kRawEntries, .directory = "sections"}),
        graph_(std::move(graph)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(graph_->sections_.size());
  }
  std::optional<std::string_view> Path(
      uint32_t section, std::string& /*scratch*/) const override {
    return graph_->sections_[section].name;
  }
  Result<Content> Open(uint32_t section,
                       const ReadContext& /*context*/) const override {
    return graph_->Piece(graph_->sections_[section].offset,
                         graph_->sections_[section].length);
  }
  std::optional<uint64_t> KnownSize(uint32_t section) const override {
    return graph_->sections_[section].length;
  }
  std::optional<EntryInfo> Describe(
      uint32_t number, const ReadContext& /*context*/) const override {
    const Section& section = graph_->sections_[number];
    EntryInfo info;
    info.name = section.name;
    info.kind = KindName(section.kind);
    info.extra["encoding"] = section.encoding;
    info.size = section.length;
    info.stored_size = section.length;
    info.offset = section.offset;
    info.verified = "none";
    return info;
  }

 private:
  const std::shared_ptr<const Graph> graph_;
};

/// arrays/NAME: the arrays of feature, split and aux sections.
class Graph::Arrays final : public FileTable {
 public:
  explicit Arrays(std::shared_ptr<const Graph> graph)
      : FileTable({.directory = "arrays"}), graph_(std::move(graph)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(graph_->arrays_.size());
  }
  std::optional<std::string_view> Path(
      uint32_t array, std::string& /*scratch*/) const override {
    return graph_->arrays_[array].name;
  }
  Result<Content> Open(uint32_t array,
                       const ReadContext& /*context*/) const override {
    return graph_->Elements(graph_->arrays_[array]);
  }
  std::optional<uint64_t> KnownSize(uint32_t array) const override {
    return graph_->arrays_[array].size;
  }
  std::optional<EntryInfo> Describe(
      uint32_t number, const ReadContext& /*context*/) const override {
    const SjgnArray& array = graph_->arrays_[number];
    EntryInfo info;
    info.kind = "array";
    info.size = array.size;
    info.stored_size = array.bits ? (array.size + 7) / 8 : array.size;
    info.offset = array.offset;
    info.verified = "none";
    info.dtype = DTypeName(array.dtype);
    info.shape = array.shape;
    return info;
  }

 private:
  const std::shared_ptr<const Graph> graph_;
};

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
  Result<bool> Exists(uint32_t table, Cost /*most*/,
                      const ReadContext& context) const override {
    return Opens(Open(table, context));
  }

 private:
  const std::shared_ptr<const Graph> graph_;
};

/// arrays/TABLE/id of nodes, arrays/TABLE/src and dst of edges: the ids in the
/// events of tables.
class Graph::Ids final : public FileTable {
 public:
  explicit Ids(std::shared_ptr<const Graph> graph)
      : FileTable({.directory = "arrays"}), graph_(std::move(graph)) {
    for (size_t i = 0; i < graph_->tables_.size(); ++i) {
      for (SjgnArray& array : graph_->IdsOf(i)) {
        arrays_.emplace_back(i, std::move(array));
      }
    }
  }

  uint32_t count() const override {
    return static_cast<uint32_t>(arrays_.size());
  }
  std::optional<std::string_view> Path(
      uint32_t array, std::string& /*scratch*/) const override {
    return arrays_[array].second.name;
  }
  Result<Content> Open(uint32_t array,
                       const ReadContext& context) const override {
    return graph_->OpenIds(arrays_[array].first, arrays_[array].second,
                           context);
  }
  std::optional<uint64_t> KnownSize(uint32_t array) const override {
    return arrays_[array].second.size;
  }
  Cost exists_cost() const override { return Cost::kDecode; }
  Result<bool> Exists(uint32_t array, Cost /*most*/,
                      const ReadContext& context) const override {
    return Opens(Open(array, context));
  }
  std::optional<EntryInfo> Describe(
      uint32_t number, const ReadContext& /*context*/) const override {
    const auto& [table, array] = arrays_[number];
    EntryInfo info;
    info.kind = "array";
    info.codec = "cowrie";
    info.computed = true;
    info.size = array.size;
    info.stored_size = graph_->tables_[table].length;
    info.offset = graph_->tables_[table].offset;
    info.verified = "none";
    info.dtype = DTypeName(array.dtype);
    info.shape = array.shape;
    return info;
  }

 private:
  const std::shared_ptr<const Graph> graph_;
  std::vector<std::pair<size_t, SjgnArray>> arrays_;  // by table
};

Container::Tables Graph::Files() const {
  Tables files = {std::make_shared<const Sections>(Share(*this)),
                  std::make_shared<const Arrays>(Share(*this)),
                  std::make_shared<const Lines>(Share(*this)),
                  std::make_shared<const Ids>(Share(*this))};
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
  for (const SjgnArray& array : arrays_) {
    all.push_back(
        {array.name, array.dtype, array.shape,
         [self = Share(*this), &array](const ReadContext& /*context*/) {
           return Result<Content>(self->Elements(array));
         }});
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    for (const SjgnArray& array : IdsOf(i)) {
      // After an interrupt nobody uses the result. A failed read says nothing
      // about the table, and its arrays fail when they are read.
      if (!context.Check()) return all;
      const Result<Content> ids = OpenIds(i, array, context);
      if (!ids && ids.error().Permanent()) break;
      all.push_back(
          {array.name, array.dtype, array.shape,
           [self = Share(*this), i, array](const ReadContext& request) {
             return self->OpenIds(i, array, request);
           },
           /*opening_reads=*/true});
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
