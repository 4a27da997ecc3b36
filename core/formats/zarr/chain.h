// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/zarr/element_type.h"
#include "core/formats/zarr/grid.h"

namespace ctxfs::zarr {

/// Bytes between two codecs. `memory` owns them, or is empty if another object
/// does.
struct Coded {
  Buffer memory;
  Bytes bytes;

  void Set(Buffer made) {
    memory = std::move(made);
    bytes = memory.span();
  }
};

/// One codec of a chain.
struct Step {
  /// Decodes `coded` in place. The offset of an error is relative to the
  /// encoded bytes.
  std::function<Status(Coded& coded, const ReadContext& context)> undo;
  std::optional<uint64_t> stored;  // encoded bytes; nullopt: varies
  bool checks = false;             // whether it detects damage
};

struct Sharding;

/// The codecs of an array's chunks (docs/formats/zarr.md, section 4), in the
/// order of writing.
struct Chain {
  std::vector<Step> steps;
  /// The codec sharding_indexed; null if there is none.
  std::shared_ptr<const Sharding> shards;
  /// Whether `shards` is the first step, so that inner chunks can be read one
  /// by one.
  bool is_divided = false;
  /// Bytes of a decoded chunk; nullopt for lines.
  std::optional<uint64_t> size;
  /// Bytes of a stored chunk; nullopt if their number depends on the data.
  std::optional<uint64_t> stored;
  /// For lines: the dimensions in the order in which texts are stored.
  Indices text_order;
  std::vector<std::string> names;  // as stored

  /// Whether decoding a chunk detects damage, by a checksum.
  bool checks() const;
  /// Whether the stored bytes of a chunk are its elements.
  bool stores_elements() const { return steps.empty() && size.has_value(); }
};

/// A chunk that consists of inner chunks, called a shard (section 7).
struct Sharding {
  Indices chunk;   // shape of an inner chunk
  Indices counts;  // inner chunks in each dimension
  uint64_t count = 1;
  uint64_t width = 1;  // bytes of an element
  std::string fill;    // of missing inner chunks
  bool index_at_start = false;
  Chain index;
  Chain inner;

  uint64_t index_bytes() const { return *index.stored; }
  /// Returns the offset of the index in a shard of `size` bytes. Fails with
  /// kCorrupt if the shard is smaller than its index.
  Result<uint64_t> IndexAt(uint64_t size) const;
};

struct ChainBuilder;

/// A codec that can be decoded. `name` is its name in version 3, or in
/// numcodecs.
struct ChunkCodec {
  enum class Stage : uint8_t {
    kArray,    // of arrays of any type; not in numcodecs
    kNumbers,  // a filter of arrays of numbers
    kTexts,    // makes bytes of texts
    kToBytes,  // makes bytes of an array; not in numcodecs
    kBytes,
  };

  std::string_view name;
  Stage stage;
  Status (*add)(const Json& configuration, ChainBuilder& chain);
};

// These are defined in filters.cc, compressors.cc and shard.cc.
std::span<const ChunkCodec> ArrayCodecs();
std::span<const ChunkCodec> ByteCodecs();
Status AddShards(const Json& configuration, ChainBuilder& chain);

/// Whether a codec of v2 encodes arrays of numbers, or texts, instead of bytes.
bool IsArrayFilter(std::string_view name);

/// Builds a Chain. Codecs must be added in the order of writing; each is
/// checked against the codecs before it. After a failure, the builder must not
/// be used again. The members describe the output of the codecs added so far.
struct ChainBuilder {
  /// Starts a chain for chunks of `shape`, whose extents must not be 0. `level`
  /// is the number of shards that enclose the chunks.
  ChainBuilder(const ElementType& type, std::string fill, Indices shape,
               size_t level = 0);

  /// Adds a codec. `name` is its name in v3, or "numcodecs." and its name in
  /// v2. Fails with kUnsupported for an unknown codec, and with kCorrupt if its
  /// configuration is invalid or it cannot follow the codec before it.
  Status Add(const std::string& name, const Json& configuration);
  /// Adds all codecs of a v3 list. Fails with kCorrupt if there is no list.
  Status AddAll(const Json* codecs);
  /// Adds the conversion of v2 elements to bytes, unless an earlier filter has
  /// made bytes of them.
  Status EndArray();
  Result<Chain> Build() &&;

  // The rest is for the functions `add` of codecs.
  /// Adds a step whose output has `after` bytes; nullopt if their number
  /// varies.
  void Push(decltype(Step::undo) undo, std::optional<uint64_t> after,
            bool checks = false);
  /// Adds a step that reverses the bytes of each number.
  void AddSwap();

  const ElementType type;
  const std::string fill;
  const size_t level;
  Indices shape;
  NumberType number;              // of elements
  uint64_t width;                 // bytes of an element
  std::optional<uint64_t> bytes;  // nullopt: varies
  bool is_array = true;
  bool filtered = false;
  Chain chain;
};

/// Decodes `coded`: undoes the steps of a chain from the last down to number
/// `first`, inclusive.
Result<Buffer> Undo(const Chain& chain, Coded coded, const ReadContext& context,
                    size_t first = 0);

/// Fails with kCorrupt unless `found`, the number of bytes at `offset`, is
/// `wanted`.
Status CheckSize(uint64_t found, uint64_t wanted, uint64_t offset = 0);

/// Returns the error "codecs: TEXT" with kCorrupt.
Error BadCodecs(const std::string& text);
Error UnreadCodec(std::string_view name);

/// The place of an inner chunk in its shard.
struct Part {
  uint64_t offset = 0;
  uint64_t size = 0;
};
/// Returns the place of inner chunk `number` in a shard of `size` bytes;
/// nullopt if the chunk is missing. `index` is the decoded index of the shard.
Maybe<Part> FindPart(const Sharding& shards, Bytes index, uint64_t number,
                     uint64_t size);
/// Adds `by` to the offset of an error, if it has one.
Error Moved(Error error, uint64_t by);

/// Fills `out`, which starts `phase` bytes after the start of an element, with
/// elements of `width` bytes. Each element is `fill`, followed by zeros.
void FillWith(std::string_view fill, uint64_t width, uint64_t phase,
              MutableBytes out);

/// HDF5's checksum of big-endian words of 16 bits.
uint32_t Fletcher32(Bytes bytes);

}  // namespace ctxfs::zarr
