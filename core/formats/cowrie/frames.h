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

/// A record of a stream, as its header says (docs/formats/cowrie.md, section
/// 7). All of it is in the file.
struct StreamRecord {
  static constexpr uint8_t kPacked = 0x01;
  static constexpr uint8_t kChecksum = 0x02;
  static constexpr uint8_t kMetadata = 0x08;
  static constexpr uint8_t kGzip = 0x10;
  static constexpr uint8_t kZstd = 0x20;

  uint64_t offset = 0;    // of the header
  uint32_t header = 0;    // its bytes
  uint32_t metadata = 0;  // bytes after it
  uint32_t payload = 0;   // bytes after these
  uint32_t raw = 0;       // bytes that a packed payload decodes to
  uint32_t type = 0;
  uint32_t checksum = 0;  // of all bytes before it
  uint8_t flags = 0;

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  bool has_metadata() const { return has(kMetadata) && metadata > 0; }
  uint64_t payload_at() const { return offset + header + metadata; }
  uint64_t payload_end() const { return payload_at() + payload; }
};

/// Whether a file that starts with `head` is a master stream. That of version
/// 1, whose frames have an index, is not.
bool StartsLikeFrames(Bytes head);
/// Whether it is a stream of values that are preceded by their lengths.
bool StartsLikeLengths(Bytes head);

/// Reads the headers of all records. Fails with kCorrupt if one does not fit
/// into the file or is none, with kVersion, and with kLimit.
Result<std::vector<StreamRecord>> WalkFrames(const Source& source,
                                             const ReadContext& context);
/// Like WalkFrames, for a stream of length-prefixed values. Sets `end` to the
/// offset where the records end: at an end mark or at the end of the file.
Result<std::vector<StreamRecord>> WalkLengths(const Source& source,
                                              uint64_t& end,
                                              const ReadContext& context);

/// Whether `bytes` have a checksum: CRC-32 (IEEE), or what the C library
/// computes instead, whose table has two wrong entries.
bool MatchesFrameChecksum(Bytes bytes, uint32_t checksum);

}  // namespace ctxfs::cowrie
