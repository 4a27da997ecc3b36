// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs::cowrie {

/// A record of a stream, from its header (docs/formats/cowrie.md, section 7).
/// The file contains the whole record.
struct StreamRecord {
  static constexpr uint8_t kPacked = 0x01;
  static constexpr uint8_t kChecksum = 0x02;
  static constexpr uint8_t kMetadata = 0x08;
  static constexpr uint8_t kGzip = 0x10;
  static constexpr uint8_t kZstd = 0x20;

  uint64_t offset = 0;    // of the header
  uint32_t header = 0;    // bytes of the header
  uint32_t metadata = 0;  // bytes of metadata, after the header
  uint32_t payload = 0;   // bytes of payload, after the metadata
  uint32_t raw = 0;       // decoded bytes of a compressed payload
  uint32_t type = 0;
  uint32_t checksum = 0;  // of the bytes of the record before it
  uint8_t flags = 0;

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  bool has_metadata() const { return has(kMetadata) && metadata > 0; }
  uint64_t payload_at() const { return offset + header + metadata; }
  uint64_t payload_end() const { return payload_at() + payload; }
};

/// Whether `head` starts a master stream. False for a stream of version 1,
/// which is another format: an indexed stream.
bool StartsLikeFrames(Bytes head);
/// Whether `head` starts a stream of length-prefixed values.
bool StartsLikeLengths(Bytes head);

/// Reads the headers of all records. Fails with kCorrupt if a record does not
/// fit in the file or is malformed, with kVersion, and with kLimit.
Result<std::vector<StreamRecord>> WalkFrames(const Source& source,
                                             const ReadContext& context);
/// Like WalkFrames, for length-prefixed values; fails with kNotContainer if the
/// first value does not fit in the file. Sets `end` to the offset after the
/// records and, if there is one, the end mark.
Result<std::vector<StreamRecord>> WalkLengths(const Source& source,
                                              uint64_t& end,
                                              const ReadContext& context);

/// Whether `checksum` is the CRC-32 (IEEE) of `bytes`, or the value computed by
/// cowrie's C library, whose table has two wrong entries.
bool MatchesFrameChecksum(Bytes bytes, uint32_t checksum);

}  // namespace ctxfs::cowrie
