// SPDX-License-Identifier: Apache-2.0
#include "core/content/checksum_guard.h"

#include <algorithm>
#include <utility>

#include "core/base/limits.h"

namespace ctxfs {
namespace {

// Small enough to stay in the L2 cache between pread and checksum.
constexpr uint64_t kScanBytes = 256 * 1024;
// Of an entry that is verified in memory; larger ones are read twice.
constexpr uint64_t kMostInMemory = 64 * limits::kMiB;
// Part of the cache that one such entry may take.
constexpr uint64_t kPartOfCache = 4;

}  // namespace

/// The guarded bytes, read and verified in one pass.
class ChecksumGuard::Whole final : public Block {
 public:
  /// The complement of an owner is no owner: others use the guard's own key.
  explicit Whole(const ChecksumGuard& guard)
      : Block({~guard.key_.owner, guard.key_.index}), guard_(guard) {}

  uint64_t cost() const override { return guard_.guarded_.length; }
  bool verifies() const override { return true; }
  const Source* made_from() const override {
    return guard_.guarded_.source.get();
  }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Buffer bytes(static_cast<size_t>(guard_.guarded_.length));
    Status read = guard_.ReadAll(bytes.span(), context);
    if (!read) return std::move(read).error();
    return bytes;
  }

 private:
  const ChecksumGuard& guard_;
};

Error ChecksumGuard::Mismatch() const {
  return {Code::kChecksum,
          "checksum mismatch: " + std::to_string(guarded_.length) +
              " bytes are not " + guarded_.checksum.Text(),
          guarded_.offset};
}

Status ChecksumGuard::Settle(bool matches, const ReadContext& context) const {
  const Verdict found = matches ? Verdict::kPassed : Verdict::kFailed;
  verdict_->store(found, std::memory_order_release);
  context.cache().CountVerdict(found);
  if (!matches) return Mismatch();
  return {};
}

Status ChecksumGuard::Scan(const ReadContext& context) const {
  Buffer piece(static_cast<size_t>(std::min(guarded_.length, kScanBytes)));
  Checksummer sum(guarded_.checksum.kind);
  if (Status may = context.Spend(guarded_.length); !may) return may;
  for (uint64_t done = 0; done < guarded_.length;) {
    if (Status wanted = context.Check(); !wanted) return wanted;
    const uint64_t left = guarded_.length - done;
    const MutableBytes bytes = piece.span().first(
        static_cast<size_t>(std::min<uint64_t>(left, piece.size())));
    Status read = guarded_.source->ReadAt(guarded_.offset + done, bytes);
    if (!read) return read;
    sum.Update(bytes);
    done += bytes.size();
  }
  return Settle(sum.Matches(guarded_.checksum), context);
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

Status ChecksumGuard::ReadAll(MutableBytes out,
                              const ReadContext& context) const {
  Checksummer sum(guarded_.checksum.kind);
  for (uint64_t done = 0; done < out.size();) {
    if (Status wanted = context.Check(); !wanted) return wanted;
    const MutableBytes bytes = out.subspan(
        static_cast<size_t>(done),
        static_cast<size_t>(std::min(out.size() - done, kScanBytes)));
    Status read = guarded_.source->ReadAt(guarded_.offset + done, bytes);
    if (!read) return read;
    sum.Update(bytes);
    done += bytes.size();
  }
  const bool matches = sum.Matches(guarded_.checksum);
  verdict_->store(matches ? Verdict::kPassed : Verdict::kFailed,
                  std::memory_order_release);
  if (!matches) return Mismatch();
  return {};
}

bool ChecksumGuard::FitsMemory(const ReadContext& context) const {
  // Less is read twice as fast as a block is looked for.
  return guarded_.length > kScanBytes && guarded_.length <= kMostInMemory &&
         guarded_.length <= context.cache().budget() / kPartOfCache;
}

Result<BlockCache::Pinned> ChecksumGuard::InMemory(
    const ReadContext& context) const {
  if (!FitsMemory(context)) return BlockCache::Pinned();
  const Whole whole(*this);
  if (verdict() == Verdict::kUnknown) return context.Get(whole);
  BlockCache::Pinned kept = context.cache().FindKept(whole);
  if (kept == nullptr) return kept;
  if (Status fresh = whole.CheckUnchanged(); !fresh) {
    return std::move(fresh).error();
  }
  return kept;
}

Status ChecksumGuard::Read(uint64_t offset, size_t length,
                           const ReadContext& context, Window& window) const {
  const Result<BlockCache::Pinned> whole = InMemory(context);
  if (!whole) return whole.error();
  if (*whole != nullptr) {
    const auto from = static_cast<size_t>(offset - guarded_.offset);
    window.AppendPinned((*whole)->span().subspan(from, length), *whole);
    return {};
  }
  // A read of everything is its own scan: small entries are read once.
  const bool all = offset == guarded_.offset && length == guarded_.length;
  if (!all || verdict() != Verdict::kUnknown) {
    if (Status passed = Verify(context); !passed) return passed;
    return guarded_.source->ReadAt(offset, window.AppendScratch(length));
  }
  const MutableBytes out = window.AppendScratch(length);
  if (Status read = guarded_.source->ReadAt(offset, out); !read) return read;
  return Settle(guarded_.checksum.Matches(out), context);
}

Status ChecksumGuard::Prepare(const ReadContext& context) const {
  const Result<BlockCache::Pinned> whole = InMemory(context);
  if (!whole) return whole.error();
  return *whole != nullptr ? Status() : Verify(context);
}

void ChecksumGuard::Spend(const ReadContext& context) const {
  if (FitsMemory(context)) context.cache().Spend(Whole(*this));
}

}  // namespace ctxfs
