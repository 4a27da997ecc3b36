// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/codec/checksum.h"
#include "core/container/format.h"
#include "core/container/open.h"
#include "core/formats/shard/shard.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {

/// Writes `value` little-endian over the bytes at `offset`.
template <typename T>
void Poke(std::string& bytes, size_t offset, T value) {
  static_assert(std::is_unsigned_v<T>);
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes.at(offset + i) =
        static_cast<char>(uint64_t{value} >> (8 * i) & 0xFFU);
  }
}

/// Where the fields of a header or of a record are (docs/formats/shard.md).
constexpr uint64_t RecordField(uint32_t entry, uint64_t field) {
  return 64 + 48 * uint64_t{entry} + field;
}
constexpr uint64_t kNameOffsetField = 8;
constexpr uint64_t kNameLengthField = 12;
constexpr uint64_t kDataOffsetField = 16;
constexpr uint64_t kDiskSizeField = 24;
constexpr uint64_t kOrigSizeField = 32;
constexpr uint64_t kChecksumField = 40;

struct ShardEntry {
  std::string name;
  std::string stored;
  uint16_t flags = 0;
  uint64_t orig_size = 0;
  uint32_t checksum = 0;
  uint16_t content_type = 0;
  uint16_t tag_bits = 0;
};

struct ShardSpec {
  std::vector<ShardEntry> entries = {};
  uint16_t flags = 0x0020;
  uint8_t role = 1;
  uint8_t compression_default = 0;
  std::string metadata = {};
  std::string gap = {};  // between the names and the data
};

inline ShardEntry Raw(std::string name, std::string data) {
  const auto size = data.size();
  const uint32_t checksum = Crc32c(AsBytes(data));
  return {std::move(name), std::move(data), 0, size, checksum};
}

inline ShardEntry Compressed(std::string name, const std::string& data,
                             std::string stored, uint16_t flags) {
  return {std::move(name), std::move(stored), flags, data.size(),
          Crc32c(AsBytes(data))};
}

inline ShardEntry ZstdEntry(std::string name, const std::string& data) {
  return Compressed(std::move(name), data, Zstd(data), 0x0003);
}

inline ShardEntry Lz4Entry(std::string name, const std::string& data) {
  return Compressed(std::move(name), data, Lz4(data), 0x0005);
}

/// A valid container, packed, as section 1 lays it out.
inline std::string BuildShard(const ShardSpec& spec) {
  const auto count = static_cast<uint32_t>(spec.entries.size());
  const size_t strings = 64 + 48 * spec.entries.size();
  std::string names;
  for (const ShardEntry& entry : spec.entries) names += entry.name + '\0';
  names += spec.gap;

  std::string bytes(strings, '\0');
  bytes += names;
  const size_t data = bytes.size();
  uint32_t name_offset = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const ShardEntry& entry = spec.entries[i];
    Poke(bytes, RecordField(i, kNameOffsetField), name_offset);
    Poke(bytes, RecordField(i, kNameLengthField),
         static_cast<uint16_t>(entry.name.size()));
    Poke(bytes, RecordField(i, 14), entry.flags);
    Poke(bytes, RecordField(i, kDataOffsetField), uint64_t{bytes.size()});
    Poke(bytes, RecordField(i, kDiskSizeField), uint64_t{entry.stored.size()});
    Poke(bytes, RecordField(i, kOrigSizeField), entry.orig_size);
    Poke(bytes, RecordField(i, kChecksumField), entry.checksum);
    Poke(bytes, RecordField(i, 44), entry.content_type);
    Poke(bytes, RecordField(i, 46), entry.tag_bits);
    name_offset += static_cast<uint32_t>(entry.name.size()) + 1;
    bytes += entry.stored;
  }
  const uint64_t schema = spec.metadata.empty() ? 0 : bytes.size();
  bytes += spec.metadata;

  bytes.replace(0, 4, "SHRD");
  bytes[4] = 2;
  bytes[5] = static_cast<char>(spec.role);
  Poke(bytes, 6, spec.flags);
  bytes[9] = static_cast<char>(spec.compression_default);
  Poke(bytes, 10, uint16_t{48});
  Poke(bytes, 12, count);
  Poke(bytes, 16, uint64_t{strings});
  Poke(bytes, 24, uint64_t{data});
  Poke(bytes, 32, schema);
  Poke(bytes, 40, uint64_t{bytes.size()});
  return bytes;
}

using ContainerResult = Result<std::shared_ptr<const Container>>;

inline ContainerResult OpenBytes(std::string bytes, OpenOptions options = {}) {
  return OpenAs<shard::ShardContainer>(
      std::make_shared<MemorySource>(std::move(bytes)), options);
}

inline const OpenOptions kSalvage{true, true};
inline const OpenOptions kNoVerify{false, false};

/// An entry's bytes, through a cache of their own unless one is given.
inline Result<std::string> ReadEntry(const Container& container, uint32_t entry,
                                     BlockCache& cache) {
  Result<Content> content = OpenEntry(container, entry);
  if (!content) return std::move(content).error();
  return ReadAll(*content, cache);
}

inline Result<std::string> ReadEntry(const Container& container,
                                     uint32_t entry) {
  BlockCache cache(1 << 20);
  return ReadEntry(container, entry, cache);
}

}  // namespace ctxfs
