// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/content/content.h"
#include "core/formats/tar/members.h"
#include "core/io/source.h"

namespace ctxfs::tar {

/// A part of a sparse file that the archive stores.
struct SparsePart {
  uint64_t from = 0;  // in the file
  uint64_t size = 0;
  uint64_t at = 0;  // in the archive

  uint64_t end() const { return from + size; }
};

/// A sparse file (docs/formats/tar.md, section 13): its stored parts. The bytes
/// between them are zeros that the archive does not store.
struct SparseMap {
  uint64_t size = 0;              // of the file, with its holes
  uint64_t holes = 0;             // bytes that are not stored
  std::vector<SparsePart> parts;  // in order, none empty
  std::string fault;              // why it cannot be read; else empty
};

/// Builds a SparseMap. Keeps the first fault and ignores everything after it.
/// Running out of memory also stops it; HeapAllowance::Check tells the two
/// apart.
class SparseBuilder {
 public:
  /// `parts`: maximum number of parts.
  explicit SparseBuilder(uint64_t parts) : most_(parts) {}

  /// Adds a number of the map: alternately an offset and a size.
  void Add(uint64_t number);
  /// Adds decimal numbers, each terminated by `end`. Returns the rest.
  std::string_view AddText(std::string_view text, char end);
  /// Adds pairs of 12-byte header fields up to the first empty pair.
  void AddFields(Bytes fields);

  void Fail(std::string why) {
    if (map_.fault.empty()) map_.fault = std::move(why);
  }
  bool failed() const { return !map_.fault.empty(); }

  /// Returns the map of a file of `size` bytes; `data` stores the parts.
  SparseMap Finish(uint64_t size, const Extent& data) &&;

 private:
  const uint64_t most_;
  SparseMap map_;
  bool has_offset_ = false;
  uint64_t offset_ = 0;
};

/// Returns the bytes of a sparse file without a fault.
Content SparseContent(std::shared_ptr<const Source> source,
                      std::shared_ptr<const SparseMap> map);

}  // namespace ctxfs::tar
