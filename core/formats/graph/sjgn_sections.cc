// SPDX-License-Identifier: Apache-2.0
//
// The sections of Cowrie-GNN graphs that hold arrays (docs/formats/sjgn.md,
// section 3).
//
//   feature  u8 1, name, u8 dtype, rank, dims, rows, elements
//   split    u8 0, three times: count, i64 ...; or u8 1, nodes, three times:
//            length, a bitmap
//   aux      u8 CSR or CSC, nodes, edges, then i64 indptr and i64 indices, each
//            with its length in bytes before it
#include "core/formats/graph/sjgn_sections.h"

#include <iterator>
#include <optional>

#include "core/base/rank.h"

namespace ctxfs::graph {
namespace {

constexpr uint64_t kWordBytes = 8;

/// Returns the dtype for a code of feature sections.
std::optional<DType> FeatureType(uint8_t code) {
  constexpr DType kTypes[] = {DType::kF32,  DType::kF64, DType::kI32,
                              DType::kI64,  DType::kU32, DType::kU64,
                              DType::kBool, DType::kF16};
  if (code >= std::size(kTypes)) return std::nullopt;
  return kTypes[code];
}

}  // namespace

SjgnArray ReadFeature(SjgnCursor& in, const std::string& name) {
  SjgnArray array;
  array.name = name;
  if (in.U8() != 1) in.Fail("the features are not in blocked form");
  in.Text();
  const std::optional<DType> dtype = FeatureType(in.U8());
  if (!dtype) in.Fail("the dtype is unknown");
  const uint64_t rank = in.Uvarint();
  if (rank > limits::kArrayRank) in.Fail("too many dimensions");
  array.shape.push_back(0);
  for (uint64_t i = 0; in.ok() && i < rank; ++i) {
    array.shape.push_back(in.Uvarint());
  }
  array.shape[0] = in.Uvarint();
  if (!in.ok()) return array;
  array.dtype = *dtype;
  std::optional<uint64_t> bytes = DTypeSize(*dtype);
  for (const uint64_t dimension : array.shape) {
    if (bytes) bytes = CheckedMul(*bytes, dimension);
  }
  array.size = in.remaining();
  if (bytes != array.size) in.Fail("the shape does not fit the bytes");
  array.offset = in.Skip(array.size);
  return array;
}

std::vector<SjgnArray> ReadSplit(SjgnCursor& in, const std::string& name) {
  const uint8_t mode = in.U8();
  if (mode > 1) in.Fail("the form of the split is unknown");
  const uint64_t nodes = mode == 1 ? in.Uvarint() : 0;
  std::vector<SjgnArray> arrays;
  for (const char* part : {"train", "val", "test"}) {
    const uint64_t count = in.Uvarint();
    SjgnArray array;
    array.name = name + "/" + part;
    array.bits = mode == 1;
    if (mode == 1) {
      if (count < nodes / 8 + (nodes % 8 != 0 ? 1 : 0)) {
        in.Fail("a bitmap is too short for the nodes");
      }
      array.dtype = DType::kBool;
      array.shape = {nodes};
      array.size = nodes;
      array.offset = in.Skip(count);
    } else {
      if (count > in.remaining() / kWordBytes) in.Fail("ends too early");
      array.shape = {count};
      array.size = in.ok() ? count * kWordBytes : 0;
      array.offset = in.Skip(array.size);
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

std::vector<SjgnArray> ReadAdjacency(SjgnCursor& in, const std::string& name) {
  if (in.U8() > 1) in.Fail("the adjacency is neither CSR nor CSC");
  in.Uvarint();  // numbers of nodes and edges: the arrays have lengths
  in.Uvarint();
  std::vector<SjgnArray> arrays;
  for (const char* part : {"indptr", "indices"}) {
    SjgnArray array;
    array.name = name + "/" + part;
    array.size = in.Uvarint();
    if (array.size % kWordBytes != 0) in.Fail("the last number is cut off");
    array.shape = {array.size / kWordBytes};
    array.offset = in.Skip(array.size);
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace ctxfs::graph
