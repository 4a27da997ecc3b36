// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/codec/checksum.h"
#include "core/codec/crypto/named_digest.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"
#include "core/io/source.h"

namespace ctxfs {

/// Verifies the bytes [offset, offset + length) of a source once: the first
/// read of any of them reads them all. The verdict is stored, so after a
/// checksum mismatch all reads fail. An I/O error is not stored.
class ChecksumGuard {
 public:
  struct Guarded {
    std::shared_ptr<const Source> source;
    uint64_t offset;
    uint64_t length;
    Checksum checksum;
    /// Replaces `checksum` if set.
    std::shared_ptr<const ExpectedHash> hash = nullptr;
  };

  /// Every ChecksumGuard of the same bytes must get the same `verdict` and
  /// `key`.
  ChecksumGuard(Key key, Guarded guarded,
                std::shared_ptr<AtomicVerdict> verdict)
      : key_(key), guarded_(std::move(guarded)), verdict_(std::move(verdict)) {}

  const Guarded& guarded() const { return guarded_; }

  /// Verifies the guarded bytes, and reads [offset, offset + out.size()), which
  /// must lie within them. Fails with kChecksum on a mismatch.
  Status Read(uint64_t offset, MutableBytes out,
              const ReadContext& context) const;

  /// Bytes that Verify still has to read: 0 once there is a verdict.
  uint64_t PendingWork() const {
    return verdict() == Verdict::kUnknown ? guarded_.length : 0;
  }

  /// Verifies the guarded bytes. Reads them all if there is no verdict yet.
  Status Verify(const ReadContext& context) const;

 private:
  Verdict verdict() const { return verdict_->load(std::memory_order_acquire); }
  Error Mismatch() const;
  Status Scan(const ReadContext& context) const;
  Status Conclude(bool matches, const ReadContext& context) const;

  Key key_;
  Guarded guarded_;
  std::shared_ptr<AtomicVerdict> verdict_;
};

}  // namespace ctxfs
