// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/codec/checksum.h"
#include "core/compressed/decoded_parts.h"
#include "core/content/content.h"
#include "core/content/verdict.h"

namespace ctxfs {

/// A raw deflate stream in a source. Offsets and sizes are in bytes.
struct DeflateData {
  SourcePtr source;
  uint64_t offset = 0;
  uint64_t stored_size = 0;
  uint64_t size = 0;
  Checksum checksum;  // CRC-32 of the decoded bytes, or none
};

/// Random access to a deflate stream. The first use decodes the whole stream
/// once, and verifies its size and checksum. The first use also saves the
/// decoder's state at places a few parts apart, as cache blocks of 85 KiB. A
/// read also saves the state where it stops. If the cache has evicted a place,
/// decoding starts at an earlier place and restores the evicted one.
///
/// A random read decodes at most 4 parts of 8 MiB in a stream of up to 128 GiB.
/// All places together take at most a quarter of the cache; a smaller cache
/// means places further apart. All readers of a stream share one object, which
/// takes 512 bytes per GiB. Safe for any number of threads.
class SeekableDeflate final
    : public Transform,
      public std::enable_shared_from_this<SeekableDeflate>,
      private DecodedParts {
 public:
  /// `verdict` receives the result of verifying the decoded bytes.
  SeekableDeflate(const DeflateData& data,
                  std::shared_ptr<AtomicVerdict> verdict);

  /// Returns the decoded bytes as a single extent.
  Content Open() const;

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  /// Decodes and verifies the whole stream at the first call.
  Status Verify(const ReadContext& context) const override;

 private:
  class Place;
  class Run;

  /// The cache key of the place at the start of `part`.
  Key KeyOfPlace(uint64_t part) const {
    return {layout().owner, parts_ + 1 + part};
  }
  Status Scan(const ReadContext& context) const;
  Status Index(const ReadContext& context) const;
  Result<Buffer> DecodePart(uint64_t part,
                            const ReadContext& context) const override;
  /// Returns a run from the last cached place at or before `part`; from the
  /// start of the stream if there is none.
  Run Nearest(uint64_t part, const ReadContext& context) const;

  const uint64_t offset_;  // of the stream, for errors
  const Checksum checksum_;
  const std::shared_ptr<AtomicVerdict> verdict_;
  const uint64_t parts_;
  mutable std::atomic<bool> ready_ = false;
  // Constant once ready_ is set: the number of parts between two places, and
  // for each part the CRC-32 of the stream up to the end of the part.
  mutable uint64_t spacing_ = 1;
  mutable std::vector<uint32_t> sums_;
};

}  // namespace ctxfs
