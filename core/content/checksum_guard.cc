// SPDX-License-Identifier: Apache-2.0
#include "core/content/checksum_guard.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace ctxfs {
namespace {

// Small enough to stay in the L2 cache between pread and checksum.
constexpr uint64_t kScanBytes = 256 * 1024;

/// Computes the checksum, or the hash, of the guarded bytes.
class GuardedSum {
 public:
  explicit GuardedSum(const ChecksumGuard::Guarded& guarded)
      : guarded_(guarded), sum_(guarded.checksum.kind) {
    if (guarded.hash != nullptr) hasher_.emplace(guarded.hash->algorithm);
  }

  void Update(Bytes bytes) {
    hasher_ ? hasher_->Update(bytes) : sum_.Update(bytes);
  }

  Result<bool> Matches() {
    if (!hasher_) return sum_.Matches(guarded_.checksum);
    const std::string hex = hasher_->Hex();
    if (hex.empty()) return Error{Code::kNoMemory, "no digests"};
    return hex == guarded_.hash->hex;
  }

 private:
  const ChecksumGuard::Guarded& guarded_;
  Checksummer sum_;
  std::optional<Hasher> hasher_;
};

}  // namespace

Error ChecksumGuard::Mismatch() const {
  return {Code::kChecksum,
          fmt::format("checksum mismatch: {} bytes are not {}", guarded_.length,
                      guarded_.hash != nullptr ? guarded_.hash->Text()
                                               : guarded_.checksum.Text()),
          guarded_.offset};
}

Status ChecksumGuard::Conclude(bool matches, const ReadContext& context) const {
  const Verdict found = matches ? Verdict::kPassed : Verdict::kFailed;
  verdict_->store(found, std::memory_order_release);
  context.cache().CountVerdict(found);
  if (!matches) return Mismatch();
  return {};
}

Status ChecksumGuard::Scan(const ReadContext& context) const {
  Buffer piece(static_cast<size_t>(std::min(guarded_.length, kScanBytes)));
  GuardedSum sum(guarded_);
  CTXFS_TRY(context.Charge(guarded_.length));
  for (uint64_t done = 0; done < guarded_.length;) {
    CTXFS_TRY(context.Check());
    const uint64_t left = guarded_.length - done;
    const MutableBytes bytes = piece.span().first(
        static_cast<size_t>(std::min<uint64_t>(left, piece.size())));
    CTXFS_TRY(guarded_.source->ReadAt(
        guarded_.offset + done, bytes,
        context.With(Ahead{left - bytes.size(), Ahead::Likelihood::kCertain})));
    sum.Update(bytes);
    done += bytes.size();
  }
  return Conclude(CTXFS_TRY(sum.Matches()), context);
}

Status ChecksumGuard::Verify(const ReadContext& context) const {
  if (verdict() == Verdict::kUnknown) {
    Status scanned = context.cache().Once(
        key_, context, [this] { return verdict() != Verdict::kUnknown; },
        [this](const ReadContext& shared) { return Scan(shared); });
    if (!scanned) return scanned;
  }
  if (verdict() == Verdict::kFailed) return Mismatch();
  return {};
}

Status ChecksumGuard::Read(uint64_t offset, MutableBytes out,
                           const ReadContext& context) const {
  // If all guarded bytes are read, verifies `out` itself, so that a small entry
  // is read only once.
  const bool whole = offset == guarded_.offset && out.size() == guarded_.length;
  if (!whole || verdict() != Verdict::kUnknown) {
    CTXFS_TRY(Verify(context));
    const uint64_t end = guarded_.offset + guarded_.length;
    return guarded_.source->ReadAt(
        offset, out,
        context.With(
            Ahead{end - offset - out.size(), Ahead::Likelihood::kIfOnward}));
  }
  CTXFS_TRY(guarded_.source->ReadAt(offset, out, context));
  GuardedSum sum(guarded_);
  sum.Update(out);
  return Conclude(CTXFS_TRY(sum.Matches()), context);
}

}  // namespace ctxfs
