// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/content/block.h"
#include "core/formats/graph/sjgn_sections.h"
#include "core/formats/graph/sjgn_table.h"

namespace ctxfs::graph {

enum Kind : uint64_t { kMeta, kNodes, kEdges, kFeature, kSplit, kAux };

/// A section of an SJGN file: its kind and position.
struct Section {
  uint64_t kind = 0;
  uint8_t encoding = 0;
  std::string name;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool packed = false;  // cowrie metadata, not text
};

/// A Cowrie-GNN graph (docs/formats/sjgn.md). The entries are the sections.
class Graph final : public Container, public SaysFacts {
 public:
  /// `data`: the SJGN bytes; `file` itself, or its decompressed bytes.
  Graph(std::shared_ptr<const Source> file, std::shared_ptr<const Source> data,
        const FormatSet* formats)
      : Container(std::move(file)), data_(std::move(data)), formats_(formats) {}

  /// Reads the headers of sections, tables and arrays. Must be called once,
  /// first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Tables Files() const override;
  Exports Export() const override;

 private:
  Status ReadBody(const Section& section, const ReadContext& context);
  /// Adds the arrays of a table's ids to `ids_`.
  void AddIds(uint32_t table);
  Content Piece(uint64_t offset, uint64_t length) const;
  std::shared_ptr<const Block> TableBlock(size_t table,
                                          SjgnWanted wanted) const;
  Result<Content> OpenLines(size_t table, const ReadContext& context) const;
  std::vector<ArrayInfo> AllArrays(const ReadContext& context) const;

  std::shared_ptr<const FileTable> SectionFiles() const;
  EntryInfo DescribeSection(const Section& section) const;
  // Returns the files arrays/NAME: the arrays of feature, split and aux
  // sections. For nodes also arrays/TABLE/id, and for edges arrays/TABLE/src
  // and dst: the ids in events.
  std::shared_ptr<const FileTable> ArrayFiles(
      const std::vector<SjgnArray>& arrays, Cost exists_cost) const;
  Result<Content> OpenArray(const SjgnArray& array,
                            const ReadContext& context) const;
  EntryInfo DescribeArray(const SjgnArray& array) const;
  std::shared_ptr<const FileTable> LineFiles() const;
  void FindEncoding(Section& section, const ReadContext& context) const;
  std::shared_ptr<const FileTable> MetaFile(const Section& section) const;

  std::shared_ptr<const Source> data_;
  const FormatSet* const formats_;
  uint8_t minor_ = 0;
  uint8_t flags_ = 0;
  std::vector<Section> sections_;
  std::vector<SjgnArray> arrays_;
  std::vector<SjgnSection> tables_;
  std::vector<SjgnArray> ids_;  // of tables
  // For each table, whether it is known to be a list of nodes or edges. AddInfo
  // examines the other tables.
  mutable std::vector<std::atomic<bool>> reads_;
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs::graph
