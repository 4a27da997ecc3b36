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

/// A stream of raw deflate in a source. Offsets and sizes in bytes.
struct DeflateData {
  SourcePtr source;
  uint64_t offset = 0;
  uint64_t stored_size = 0;
  uint64_t size = 0;
  Checksum checksum;  // CRC-32 of the decoded bytes, or none
};

/// Decodes any part of a stream of deflate without all of the parts before it.
/// The first use decodes the whole stream once, and compares size and checksum.
/// The state of the decoder is saved at places a few parts apart, and where a
/// reader stops, as blocks of the cache of 86 KiB. A place that the cache has
/// dropped is made again from the one before it.
///
/// Reading anywhere decodes at most 4 parts of 8 MiB in a stream of up to 128
/// GiB. All places take a quarter of the cache at most, and are further apart
/// if that is less than they need. All readers of a stream share one object,
/// which takes 512 bytes for each GiB. Safe for any number of threads.
class SeekableDeflate final
    : public Transform,
      public std::enable_shared_from_this<SeekableDeflate>,
      private DecodedParts {
 public:
  /// `verdict` is that of the decoded bytes.
  SeekableDeflate(const DeflateData& data,
                  std::shared_ptr<AtomicVerdict> verdict);

  /// The decoded bytes: one extent, however many there are.
  Content Open() const;

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  /// Decodes and verifies the whole stream, unless that was done before.
  Status Verify(const ReadContext& context) const override;

 private:
  class Place;
  class Run;

  /// The key of the place at the start of `part`.
  Key KeyOfPlace(uint64_t part) const {
    return {layout().owner, parts_ + 1 + part};
  }
  Status Scan(const ReadContext& context) const;
  Status Index(const ReadContext& context) const;
  Result<Buffer> DecodePart(uint64_t part,
                            const ReadContext& context) const override;
  /// Returns a run from the last place at or before `part` that is in the
  /// cache, or else from the start.
  Run Nearest(uint64_t part, const ReadContext& context) const;

  const uint64_t offset_;  // of the stream, for errors
  const Checksum checksum_;
  const std::shared_ptr<AtomicVerdict> verdict_;
  const uint64_t parts_;
  mutable std::atomic<bool> ready_ = false;
  // Constant once it is ready: parts between two places, and the CRC-32 of
  // everything up to the end of each part.
  mutable uint64_t spacing_ = 1;
  mutable std::vector<uint32_t> sums_;
};

}  // namespace ctxfs
