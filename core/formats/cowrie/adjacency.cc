// SPDX-License-Identifier: Apache-2.0
//
// Neighbours in compressed rows (docs/formats/cowrie.md, section 2).
//
//   u8 width of ids (1: 4 bytes, 2: 8), nodes, edges, nodes + 1 row offsets,
//   ids
#include "core/formats/cowrie/arrays.h"
#include "core/formats/cowrie/reader.h"

namespace ctxfs::cowrie {

std::optional<StoredAdjacency> CowrieReader::Adjacency(CowrieArrays& arrays,
                                                       bool numbers) {
  StoredAdjacency stored;
  stored.width = U8();
  if (stored.width != 1 && stored.width != 2) {
    Fail("an adjacency has ids of unknown width");
  }
  stored.nodes = Uvarint();
  stored.edges = Uvarint();
  const uint64_t id_size = stored.width == 1 ? 4 : 8;
  if (ok() && (stored.nodes >= remaining() ||
               stored.edges > (remaining() - stored.nodes) / id_size)) {
    Fail("an adjacency needs more bytes than there are");
  }
  if (!ok()) return std::nullopt;
  const uint64_t count = stored.nodes + 1;
  const uint64_t at = offset();
  if (numbers) {
    stored.row_offsets =
        List(count, 1, [this] { return UnsignedJson(Uvarint()); });
  } else {
    stored.row_offsets = Json::array();
    for (uint64_t i = 0; i < count && ok(); ++i) Uvarint();
  }
  arrays.Add({.name = "indptr",
              .shape = {count},
              .coding = CowrieCoding::kUvarint,
              .offset = at,
              .length = offset() - at});
  stored.ids = Take(stored.edges * id_size);
  if (!ok()) return std::nullopt;
  arrays.Add({.name = "indices",
              .dtype = stored.width == 1 ? DType::kI32 : DType::kI64,
              .shape = {stored.edges},
              .offset = offset() - stored.ids.size(),
              .length = stored.ids.size()});
  return stored;
}

}  // namespace ctxfs::cowrie
