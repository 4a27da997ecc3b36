// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/torch/names.h"
#include "core/formats/torch/pickle.h"

namespace ctxfs::torch {

/// Where a file of a distributed checkpoint has a part of a tensor, or an
/// object: what torch.save wrote of it.
struct Piece {
  uint32_t file = 0;  // DistributedIndex::files
  uint64_t offset = 0;
  uint64_t length = 0;
};
constexpr uint32_t kNoPiece = UINT32_MAX;

/// The part of a tensor that one piece has: one element at least.
struct Chunk {
  uint32_t piece = kNoPiece;
  uint32_t numbers = 0;  // where its offsets and sizes start
  uint64_t elements = 0;
};

/// A tensor, and the chunks that it is made of: all of them are within its
/// shape, and each has a piece of its own.
struct ChunkedTensor {
  std::string name;
  TypeInfo type;
  /// The name of a type that is not known: `shape` and chunks are in elements
  /// of it, and `type` is that of bytes. Else empty.
  std::string unknown_type;
  std::vector<uint64_t> shape;
  uint32_t first_chunk = 0;
  uint32_t chunks = 0;
  uint64_t elements = 0;
  std::string fault;      // why it cannot be read; empty: nothing is known yet
  bool unjoined = false;  // whether it is because its type is unknown
};

/// An object that is no tensor.
struct StoredObject {
  std::string name;
  uint32_t piece = kNoPiece;
};

/// What .metadata says of a distributed checkpoint (docs/formats/torch.md,
/// section 13). All of it are claims: nothing is compared with the files yet.
struct DistributedIndex {
  std::vector<ChunkedTensor> tensors;
  std::vector<StoredObject> objects;
  std::vector<Chunk> chunks;
  std::vector<Piece> pieces;
  std::vector<std::string> files;
  std::map<uint32_t, std::string> faults;  // why a piece cannot be read
  std::set<uint32_t> transformed;          // pieces of which it is no damage
  std::vector<bool> used;                  // by piece: whether anything has it
  std::vector<uint64_t> numbers;           // of all chunks

  std::span<const Chunk> ChunksOf(const ChunkedTensor& tensor) const {
    return std::span(chunks).subspan(tensor.first_chunk, tensor.chunks);
  }
  std::span<const uint64_t> Offsets(const ChunkedTensor& tensor,
                                    const Chunk& chunk) const {
    return std::span(numbers).subspan(chunk.numbers, tensor.shape.size());
  }
  std::span<const uint64_t> Sizes(const ChunkedTensor& tensor,
                                  const Chunk& chunk) const {
    return std::span(numbers).subspan(chunk.numbers + tensor.shape.size(),
                                      tensor.shape.size());
  }
};

/// Reads the index from the value of .metadata. Fails with kCorrupt for a value
/// that is no such index, and with kLimit for one that is too large.
Result<DistributedIndex> ReadDistributedIndex(const Pickle& pickle,
                                              const ReadContext& context);

/// Whether a name is that of a class of an index.
bool IsDistributedName(std::string_view name);

/// Whether `head` starts as the pickle of such an index does.
bool StartsDistributedIndex(Bytes head);

}  // namespace ctxfs::torch
