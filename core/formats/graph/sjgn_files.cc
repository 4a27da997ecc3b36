// SPDX-License-Identifier: Apache-2.0
//
// Builds the files of a graph: sections/, arrays/, tables/ and meta.json
// (docs/formats/sjgn.md, section 2).
#include <iterator>
#include <string>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/content/bit_bytes.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/graph/sjgn.h"

namespace ctxfs::graph {
namespace {

constexpr uint64_t kMetaKey = uint64_t{1} << 63;  // cache keys of meta sections

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
  const BlockCache::Pinned text = CTXFS_TRY(context.Get(*block));
  return Content(Decoded{std::move(block), 0}, text->size());
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

EntryInfo Graph::DescribeSection(const Section& section) const {
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

Result<Content> Graph::OpenArray(const SjgnArray& array,
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
  const BlockCache::Pinned ids = CTXFS_TRY(context.Get(*block));
  // MeasureSjgnTable has counted the events from their lengths alone, so their
  // number must be checked.
  const SjgnSection& table = tables_[array.table];
  if (ids->size() != array.size * (table.edges ? 2 : 1)) {
    return Error{Code::kCorrupt, "the events are not as many as their lengths",
                 table.offset};
  }
  return Content(Decoded{std::move(block), array.offset}, array.size);
}

EntryInfo Graph::DescribeArray(const SjgnArray& array) const {
  EntryInfo info;
  info.size = array.size;
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

std::shared_ptr<const FileTable> Graph::ArrayFiles(
    const std::vector<SjgnArray>& arrays, Cost exists_cost) const {
  return MakeTable(
      {.placement = {.directory = "arrays", .exists_cost = exists_cost},
       .count = static_cast<uint32_t>(arrays.size()),
       .path = [&arrays](uint32_t array, std::string& /*scratch*/)
           -> std::string_view { return arrays[array].name; },
       .open =
           [this, &arrays](uint32_t array, const ReadContext& context) {
             return OpenArray(arrays[array], context);
           },
       .facts =
           [&arrays](uint32_t array) { return FileFacts{arrays[array].size}; },
       .describe =
           [this, &arrays](uint32_t array, const ReadContext& /*context*/) {
             return DescribeArray(arrays[array]);
           },
       .owner = Share(*this)});
}

/// Returns the files .ctxfs/raw/sections/NAME: the entries, as stored.
std::shared_ptr<const FileTable> Graph::SectionFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kRawEntries, .directory = "sections"},
       .count = static_cast<uint32_t>(sections_.size()),
       .path = [this](uint32_t section, std::string& /*scratch*/)
           -> std::string_view { return sections_[section].name; },
       .open = [this](uint32_t section,
                      const ReadContext& /*context*/) -> Result<Content> {
         return Piece(sections_[section].offset, sections_[section].length);
       },
       .facts =
           [this](uint32_t section) {
             return FileFacts{sections_[section].length};
           },
       .describe =
           [this](uint32_t section, const ReadContext& /*context*/) {
             return DescribeSection(sections_[section]);
           },
       .owner = Share(*this)});
}

/// Returns the files tables/NAME.jsonl: the events of a table, one per line.
std::shared_ptr<const FileTable> Graph::LineFiles() const {
  return MakeTable(
      {.placement = {.directory = "tables", .exists_cost = Cost::kDecode},
       .count = static_cast<uint32_t>(tables_.size()),
       .path = [this](uint32_t table,
                      std::string& scratch) -> std::string_view {
         scratch = tables_[table].name;
         return scratch += ".jsonl";
       },
       .open =
           [this](uint32_t table, const ReadContext& context) {
             return OpenLines(table, context);
           },
       .owner = Share(*this)});
}

Container::Tables Graph::Files() const {
  Tables files = {SectionFiles(), ArrayFiles(arrays_, Cost::kNone), LineFiles(),
                  ArrayFiles(ids_, Cost::kDecode)};
  for (const Section& section : sections_) {
    if (section.kind == kMeta) files.push_back(MetaFile(section));
  }
  return files;
}

Status Graph::AddFacts(const ReadContext& context, Facts& facts) const {
  facts.Add("sections", sections_.size());
  for (const SjgnArray& array : arrays_) {
    facts.Add("array." + array.name,
              ArrayText(DTypeName(array.dtype), array.shape));
  }
  return context.Check();
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
                     return self->OpenArray(array, request);
                   },
                   /*opening_reads=*/array.table != SjgnArray::kStored});
  };
  for (const SjgnArray& array : arrays_) {
    // If memory is refused, the caller fails and discards this incomplete
    // result.
    if (!AdmitGrowth(all)) return all;
    add(array);
  }
  uint32_t unlisted = SjgnArray::kStored;  // a table without ids
  for (const SjgnArray& array : ids_) {
    if (array.table == unlisted) continue;
    // After an interrupt the result is discarded, too. A transient error proves
    // nothing about the table, so its arrays are listed, and fail when they are
    // read.
    if (!context.Check() || !AdmitGrowth(all)) return all;
    const Result<Content> ids = OpenArray(array, context);
    if (!ids && ids.error().Permanent()) {
      unlisted = array.table;
    } else {
      add(array);
    }
  }
  return all;
}

std::shared_ptr<const FileTable> Graph::MetaFile(const Section& section) const {
  if (!section.packed) {
    return FixedFile(Role::kPrimary, "meta.json",
                     Piece(section.offset, section.length));
  }
  return TextDocument(
      Role::kPrimary, "meta.json", {owner_, kMetaKey + section.offset}, data_,
      [data = data_,
       section](const ReadContext& context) -> Result<std::string> {
        const Buffer bytes = CTXFS_TRY(
            ReadBuffer(*data, section.offset, section.length, "meta", context));
        const Json meta =
            CTXFS_TRY(cowrie::DecodeCowrie(bytes.span(), context.interrupt()));
        return FormatJson(meta);
      });
}

}  // namespace ctxfs::graph
