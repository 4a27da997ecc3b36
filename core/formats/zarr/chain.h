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

/// Bytes between two codecs, and the memory that they are in, if it is theirs.
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
  /// Decodes `coded` in place. The offsets of errors are bytes of it.
  std::function<Status(Coded& coded, const ReadContext& context)> undo;
  std::optional<uint64_t> stored;  // encoded bytes; nullopt: it varies
  bool checks = false;             // whether damage is found
};

struct Sharding;

/// The codecs of an array's chunks (docs/formats/zarr.md, section 4), in the
/// order of writing.
struct Chain {
  std::vector<Step> steps;
  /// The codec sharding_indexed; null if there is none.
  std::shared_ptr<const Sharding> shards;
  /// Whether `shards` is the first step: its chunks can be read one by one.
  bool is_divided = false;
  /// Bytes of a decoded chunk; nullopt for lines.
  std::optional<uint64_t> size;
  /// Bytes of a stored chunk, where they do not depend on the data.
  std::optional<uint64_t> stored;
  /// For lines: the dimensions in the order in which texts are stored.
  Indices text_order;
  std::vector<std::string> names;  // as stored

  /// Whether every chunk has a checksum.
  bool checks() const;
  /// Whether the stored bytes of a chunk are its elements.
  bool stores_elements() const { return steps.empty() && size.has_value(); }
};

/// A chunk of chunks (section 7).
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
  /// Where the index of a shard of `size` bytes begins.
  Result<uint64_t> IndexAt(uint64_t size) const;
};

struct ChainBuilder;

/// A codec by its name in numcodecs.
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

// Codecs of filters.cc, compressors.cc and shard.cc.
std::span<const ChunkCodec> ArrayCodecs();
std::span<const ChunkCodec> ByteCodecs();
Status AddShards(const Json& configuration, ChainBuilder& chain);

/// Whether a codec of v2 takes and makes arrays, or takes texts.
bool IsArrayFilter(std::string_view name);

/// Adds the codecs of an array in the order of writing, and checks that they
/// form a chain. The first failure is final. The members say what the codecs so
/// far make of a chunk.
struct ChainBuilder {
  /// For chunks of `shape`, none of whose extents is 0. `level`: the number of
  /// shards around them.
  ChainBuilder(const ElementType& type, std::string fill, Indices shape,
               size_t level = 0);

  /// Adds codec `name` of v3, or "numcodecs." and the name of v2.
  /// Fails with kUnsupported for one that is not decoded, and with kCorrupt.
  Status Add(const std::string& name, const Json& configuration);
  /// Adds the list `codecs` of v3.
  Status AddAll(const Json* codecs);
  /// Makes bytes of the elements of v2, unless a filter has.
  Status EndArray();
  Result<Chain> Build() &&;

  // For codecs.
  /// Adds a step that makes `after` bytes of `bytes`.
  void Push(decltype(Step::undo) undo, std::optional<uint64_t> after,
            bool checks = false);
  /// Reverses the bytes of each number.
  void AddSwap();

  const ElementType type;
  const std::string fill;
  const size_t level;
  Indices shape;
  NumberType number;              // of elements
  uint64_t width;                 // bytes of an element
  std::optional<uint64_t> bytes;  // nullopt: it varies
  bool is_array = true;
  bool filtered = false;
  Chain chain;
};

/// Undoes the steps of a chain from the last to number `first`.
Result<Buffer> Undo(const Chain& chain, Coded coded, const ReadContext& context,
                    size_t first = 0);

/// Fails if the bytes that are there are not as many as shape and type demand.
Status CheckSize(uint64_t found, uint64_t wanted, uint64_t offset = 0);

/// "codecs: TEXT", with kCorrupt.
Error BadCodecs(const std::string& text);
Error UnreadCodec(std::string_view name);

/// Where chunk `number` of a shard of `size` bytes is in it.
struct Part {
  uint64_t offset = 0;
  uint64_t size = 0;
};
/// Returns nullopt if the chunk is missing. `index`: that of the shard,
/// decoded.
Maybe<Part> FindPart(const Sharding& shards, Bytes index, uint64_t number,
                     uint64_t size);
/// Adds `by` to the offset of an error, if it has one.
Error Moved(Error error, uint64_t by);

/// Fills `out`, which starts `phase` bytes after the start of an element, with
/// elements of `width` bytes: `fill`, and zeros after it.
void FillWith(std::string_view fill, uint64_t width, uint64_t phase,
              MutableBytes out);

/// HDF5's checksum of big-endian words of 16 bits.
uint32_t Fletcher32(Bytes bytes);

}  // namespace ctxfs::zarr
