// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/formats/mds/shards.h"
#include "core/io/window_reader.h"

namespace ctxfs::mds {

/// A value in the decoded bytes of a shard.
struct Value {
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// A value as its file shows it: an array without its header.
struct ShownValue : Value {
  std::optional<DType> dtype;
  std::vector<uint64_t> shape = {};
};

/// Reads samples of one shard; fastest if the samples are read in order. Not
/// thread-safe. The bytes of an uncompressed shard are verified only by Verify.
class SampleReader {
 public:
  /// Opens the shard; `shards` and `context` must outlive this object.
  static Result<SampleReader> Open(const Shards& shards, uint32_t shard,
                                   const ReadContext& context);
  /// Opens the shard of a sample of the data set, and finds the sample.
  static Result<SampleReader> OpenAt(const Shards& shards, uint32_t number,
                                     const ReadContext& context);
  /// Like OpenAt, but verifies the shard first.
  static Result<SampleReader> OpenVerified(const Shards& shards,
                                           uint32_t number,
                                           const ReadContext& context);

  /// Verifies all bytes of the shard, unless they have been verified before.
  Status Verify() const;

  /// Finds a sample of this shard by its number in the data set. Fails with
  /// kCorrupt if its offsets or sizes are damaged.
  Status Find(uint32_t number);

  // These describe the sample that the last Find found.
  uint32_t number() const { return number_; }
  Value ValueOf(uint32_t column) const {
    return {starts_[column], starts_[column + 1] - starts_[column]};
  }
  /// Returns the value as its file shows it. Fails with kCorrupt if the column
  /// has arrays and the value is not one.
  Result<ShownValue> ShownOf(uint32_t column);
  /// Returns the offset in the shard of each item of a list, and then the end
  /// of the last item. Item i ends where item i + 1 begins.
  Result<std::vector<uint64_t>> ItemsOf(uint32_t column);

  /// Reads bytes of the shard.
  Status Read(uint64_t offset, MutableBytes out);
  /// Reads a value, which must not exceed limits::kDecodedBytes.
  Result<Buffer> ReadValue(const Value& value);

  const ShardFile& file() const { return file_; }

 private:
  SampleReader(const Shards& shards, uint32_t shard, ShardFile file,
               BlockCache::Pinned decoded, const ReadContext& context);

  uint64_t size() const { return shards_.record(shard_).raw.bytes; }
  const Column& column(uint32_t number) const {
    return shards_.index().columns[number];
  }
  /// Returns bytes of the shard. For an uncompressed shard, `length` must be at
  /// most WindowReader::kMax, and the bytes are valid until the next call with
  /// the same `reader`.
  Result<Bytes> At(WindowReader& reader, uint64_t offset, size_t length);
  Status FindBounds(uint32_t index, uint64_t& begin, uint64_t& end);
  Status FindValues(uint32_t index, uint64_t begin, uint64_t end);
  Error Damaged(uint32_t index, const std::string& why, uint64_t at) const;

  const Shards& shards_;
  const uint32_t shard_;
  const ShardFile file_;
  const BlockCache::Pinned decoded_;  // of a compressed shard
  const ReadContext& context_;
  WindowReader offsets_;
  WindowReader values_;
  uint32_t number_ = 0;
  std::vector<uint64_t> starts_;  // of the values, and the end of the last
};

}  // namespace ctxfs::mds
