// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/zarr/element_type.h"

namespace ctxfs::zarr {

enum class StepKind : uint8_t {
  // Of arrays.
  kTranspose,
  kSwap,
  kDelta,
  kScale,    // fixedscaleoffset
  kConvert,  // astype, quantize
  kPackBits,
  // Of bytes.
  kShuffle,
  kZstd,
  kGzip,
  kZlib,
  kBzip2,
  kXz,
  kLz4,
  kBlosc,
  kCrc32c,
  kCrc32,
  kAdler32,
  kFletcher32,
};

/// Numbers as a filter has them.
struct FilterNumber {
  DType dtype = DType::kU8;
  bool big = false;
};

/// One codec of a chain, with the bytes that decoding it makes.
struct Step {
  StepKind kind = StepKind::kSwap;
  std::optional<uint64_t> decoded;  // bytes; nullopt: depends on the data
  uint64_t unit = 1;                // of kSwap, kShuffle and kTranspose
  bool at_start = false;            // of checksums
  bool checks = false;              // whether damage is found
  FilterNumber stored;              // of kDelta, kScale and kConvert
  FilterNumber shown;
  double scale = 1;
  double offset = 0;
  std::vector<uint64_t> shape;  // of kTranspose: that of the decoded array
  std::vector<uint64_t> order;  // of kTranspose
};

struct Sharding;

/// The codecs of an array's chunks (docs/formats/zarr.md, section 4), in the
/// order of writing: steps of arrays, then perhaps shards, then steps of bytes.
struct Chain {
  std::vector<Step> array_steps;
  std::shared_ptr<const Sharding> shards;  // null: there are none
  std::vector<Step> byte_steps;
  /// Bytes of a decoded chunk; nullopt for lines.
  std::optional<uint64_t> size;
  /// Bytes of a stored chunk, where they do not depend on the data.
  std::optional<uint64_t> stored;
  std::vector<std::string> names;  // as stored

  /// Whether a chunk is only shards, whose parts are read one by one.
  bool is_divided() const { return shards != nullptr && array_steps.empty(); }
  /// Whether the stored bytes of a chunk are its elements.
  bool stores_elements() const {
    return array_steps.empty() && shards == nullptr && byte_steps.empty() &&
           size.has_value();
  }
  /// Whether every chunk has a checksum.
  bool checks() const;
};

/// A chunk of chunks (section 7).
struct Sharding {
  std::vector<uint64_t> chunk;   // shape of an inner chunk
  std::vector<uint64_t> counts;  // inner chunks in each dimension
  uint64_t count = 1;
  bool index_at_start = false;
  bool index_is_big = false;
  bool index_has_crc = false;
  Chain inner;

  uint64_t index_bytes() const { return 16 * count + (index_has_crc ? 4 : 0); }
};

/// Whether a codec of numcodecs takes and makes arrays.
bool IsArrayFilter(std::string_view name);

/// Adds the codecs of an array in the order of writing, and checks that they
/// form a chain. The first failure is final.
class ChainBuilder {
 public:
  /// For chunks of `shape`, none of whose extents is 0. `level`: the number of
  /// shards around them.
  ChainBuilder(const ElementType& type, std::vector<uint64_t> shape,
               size_t level = 0);

  /// Adds codec `name` of v3, or "numcodecs." and the name of v2.
  /// Fails with kUnsupported for one that is not decoded, and with kCorrupt.
  Status Add(const std::string& name, const Json& configuration);
  /// Adds the list `codecs` of v3.
  Status AddAll(const Json& codecs);
  /// Makes bytes of the elements of v2, unless a filter has.
  Status EndArray();

  Result<Chain> Build() &&;

 private:
  Status AddFilter(std::string_view name, const Json& configuration);
  Status AddTranspose(const Json& configuration);
  Status AddDelta(const Json& configuration);
  Status AddScale(const Json& configuration);
  Status AddConvert(const char* stored, const char* shown,
                    const Json& configuration);
  Status AddPackBits();
  void AddSwap();
  Status AddBytes(const Json& configuration);
  Status AddShards(const Json& configuration);
  Status SetIndex(const Json& configuration, Sharding& shards) const;
  Status AddBytesCodec(std::string_view name, const Json& configuration);
  Status AddShuffle(const Json& configuration);
  Status AddChecksum(StepKind kind, bool at_start, const Json& configuration);
  void AddCompressor(StepKind kind, bool checks);
  /// The number that a configuration names, or `otherwise`.
  Result<FilterNumber> NumberAt(const Json& configuration, const char* key,
                                const FilterNumber& otherwise) const;
  /// Adds a step after which the elements are numbers of type step.stored.
  Status Replace(Step step);

  const ElementType type_;
  const std::vector<uint64_t> shape_;
  const size_t level_;
  std::vector<uint64_t> current_shape_;  // after the steps so far
  FilterNumber number_;                  // likewise
  uint64_t count_ = 1;                   // elements
  uint64_t width_ = 1;                   // bytes of an element, likewise
  uint64_t unit_ = 1;                    // whose order the byte order concerns
  std::optional<uint64_t> bytes_;        // after the steps so far
  bool is_array_ = true;
  Chain chain_;
};

/// Undoes steps from the last to the first. `stored` has the bytes after the
/// last. Offsets of errors are bytes of `stored` where they are known.
Result<Buffer> UndoSteps(const std::vector<Step>& steps, Bytes stored,
                         const ReadContext& context);

/// Undoes a step of an array. `in` may have any size; `out` has step.decoded
/// bytes.
Status UndoFilter(const Step& step, Bytes in, MutableBytes out);

/// HDF5's checksum of big-endian words of 16 bits.
uint32_t Fletcher32(Bytes bytes);

}  // namespace ctxfs::zarr
