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

/// Position of an archive of torch.save in a file of the distributed
/// checkpoint. The archive holds a part of a tensor, or an object.
struct Piece {
  uint32_t file = 0;  // DistributedIndex::files
  uint64_t offset = 0;
  uint64_t length = 0;
};
constexpr uint32_t kNoPiece = UINT32_MAX;

/// The part of a tensor in one piece: at least one element.
struct Chunk {
  uint32_t piece = kNoPiece;
  uint32_t numbers = 0;  // start of its offsets and sizes
  uint64_t elements = 0;
};

/// A tensor and its chunks, all within its shape, each with its own piece.
struct ChunkedTensor {
  std::string name;
  TypeInfo type;
  /// The name of an unknown type; else empty. If set, `shape` and chunks count
  /// elements of this type, and `type` is a byte.
  std::string unknown_type;
  std::vector<uint64_t> shape;
  uint32_t first_chunk = 0;
  uint32_t chunks = 0;
  uint64_t elements = 0;
  std::string fault;      // why it cannot be read; empty: none found yet
  bool unjoined = false;  // the only fault is the unknown type
};

struct StoredObject {
  std::string name;
  uint32_t piece = kNoPiece;
};

/// The contents of a distributed checkpoint's .metadata (docs/formats/torch.md,
/// section 13), not yet compared with the files.
struct DistributedIndex {
  std::vector<ChunkedTensor> tensors;
  std::vector<StoredObject> objects;
  std::vector<Chunk> chunks;
  std::vector<Piece> pieces;
  std::vector<std::string> files;
  std::map<uint32_t, std::string> faults;  // why a piece cannot be read
  std::set<uint32_t> transformed;  // pieces that are unsupported, not damaged
  std::vector<bool> used;          // by piece: a tensor or object uses it
  std::vector<uint64_t> numbers;   // offsets and sizes of all chunks

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

/// Reads the index from the value of .metadata. Fails with kCorrupt if the
/// value is not such an index, and with kLimit if it is too large.
Result<DistributedIndex> ReadDistributedIndex(const Pickle& pickle,
                                              const ReadContext& context);

/// Whether `name` is a global that torch's writers use in such an index.
bool IsDistributedName(std::string_view name);

/// Whether `head` starts like the pickle of such an index.
bool StartsDistributedIndex(Bytes head);

}  // namespace ctxfs::torch
