// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/block.h"
#include "core/formats/graph/sjgn_cursor.h"
#include "core/formats/graph/sjgn_sections.h"
#include "core/formats/graph/sjgn_table.h"

namespace ctxfs::graph {

enum Kind : uint64_t { kMeta, kNodes, kEdges, kFeature, kSplit, kAux };

/// A section of an SJGN file: its kind, and where its body is.
struct Section {
  uint64_t kind = 0;
  uint8_t encoding = 0;
  std::string name;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// A Cowrie-GNN graph (docs/sjgn.md). Its entries are the sections.
class Graph final : public Container {
 public:
  /// `data` holds the SJGN bytes: `file` itself, or its decoded bytes.
  Graph(std::shared_ptr<const Source> file, std::shared_ptr<const Source> data)
      : Container(std::move(file)), data_(std::move(data)) {}

  /// Reads the headers of the sections, and of the tables and arrays in them.
  /// To be called once, before anything else.
  Status Load(const ReadContext& context);

  Json Info(const ReadContext& context) const override;
  Tables Files() const override;
  Exports Export() const override;

 private:
  class Sections;
  class Arrays;
  class Lines;
  class Ids;

  Status ReadBody(const Section& section, const ReadContext& context);
  Content Piece(uint64_t offset, uint64_t length) const;
  Content Elements(const SjgnArray& array) const;
  std::shared_ptr<const Block> LinesBlock(size_t table) const;
  std::shared_ptr<const Block> IdsBlock(size_t table) const;
  Result<Content> OpenLines(size_t table, const ReadContext& context) const;
  /// The arrays of a table's ids; `offset` is where they begin in its block.
  std::vector<SjgnArray> IdsOf(size_t table) const;
  Result<Content> OpenIds(size_t table, const SjgnArray& array,
                          const ReadContext& context) const;
  std::vector<ArrayInfo> AllArrays(const ReadContext& context) const;
  std::shared_ptr<const FileTable> MetaFile(const Section& section) const;

  std::shared_ptr<const Source> data_;
  uint8_t minor_ = 0;
  uint8_t flags_ = 0;
  std::vector<Section> sections_;
  std::vector<SjgnArray> arrays_;
  std::vector<SjgnSection> tables_;
  // By table: whether it is known to be a list of nodes or edges. Info reads
  // the others.
  mutable std::vector<std::atomic<bool>> reads_;
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs::graph
