// SPDX-License-Identifier: Apache-2.0
//
// Decodes and verifies the stored bytes of an entry (docs/formats/shard.md,
// sections 9 and 10).
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/codec/zstd_stream.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::shard {
namespace {

// Offset in a record, for the position of a fault.
constexpr uint64_t kOrigSizeAt = 32;

}  // namespace

/// The bytes of an entry, decoded if necessary.
class ShardBlock final : public Block {
 public:
  ShardBlock(std::shared_ptr<const ShardContainer> container, uint32_t entry)
      : Block({container->owner_, entry}),
        container_(std::move(container)),
        record_(container_->Record(entry)),
        checksum_(container_->ExpectedChecksum(record_)),
        verdict_(container_->VerdictOf(entry)) {
    if (!container_->Encoded(record_)) record_.orig_size = record_.disk_size;
  }

  uint64_t cost() const override {
    return record_.disk_size + record_.orig_size;
  }

  bool verifies() const override { return static_cast<bool>(checksum_); }

  const Source* made_from() const override {
    return container_->source().get();
  }

  uint64_t streamed_size() const override {
    return container_->Streams(record_) ? record_.orig_size : 0;
  }

  Status Stream(const Sink& sink, uint64_t memory,
                const ReadContext& context) const override {
    if (Failed()) return Damaged();
    Status decoded = StreamAndCheck(sink, memory, context);
    return decoded ? Passed() : Status(Remembered(std::move(decoded).error()));
  }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (Failed()) return Damaged();
    if (std::optional<Error> large =
            container_->TooLarge(record_, /*in_memory=*/true)) {
      return At(*std::move(large));
    }
    Buffer stored =
        CTXFS_TRY(ReadBuffer(*container_->source(), record_.data_offset,
                             record_.disk_size, "stored data", context));
    Result<Buffer> decoded =
        DecodeAndCheck(std::move(stored), context.interrupt());
    if (!decoded) return Remembered(std::move(decoded).error());
    (void)Passed();
    return decoded;
  }

 private:
  Error At(Error error) const {
    error.offset = record_.data_offset;
    return error;
  }

  bool Failed() const {
    return verdict_->load(std::memory_order_acquire) == Verdict::kFailed;
  }
  Error Damaged() const {
    return At({Code::kCorrupt, "damaged: an earlier read failed"});
  }
  Status Passed() const {
    if (checksum_) verdict_->store(Verdict::kPassed, std::memory_order_release);
    return {};
  }
  Error Remembered(Error error) const {
    if (error.Permanent()) {
      verdict_->store(Verdict::kFailed, std::memory_order_release);
    }
    return At(std::move(error));
  }

  /// Like DecodeAndCheck, in pieces; stored and decoded sizes must differ.
  Status StreamAndCheck(const Sink& sink, uint64_t memory,
                        const ReadContext& context) const {
    Buffer piece(limits::kMiB);
    Checksummer of_stored(checksum_.kind);
    Checksummer of_decoded(checksum_.kind);
    uint64_t at = 0;
    const auto next = [&]() -> Result<Bytes> {
      const MutableBytes bytes = piece.span().first(static_cast<size_t>(
          std::min<uint64_t>(piece.size(), record_.disk_size - at)));
      const Source& source = *container_->source();
      CTXFS_TRY(source.ReadAt(
          record_.data_offset + at, bytes,
          context.With(Ahead{record_.disk_size - at - bytes.size(),
                             Ahead::Likelihood::kCertain})));
      of_stored.Update(bytes);
      at += bytes.size();
      return Bytes(bytes);
    };
    const auto take = [&](Bytes decoded) {
      of_decoded.Update(decoded);
      return sink(decoded);
    };
    CTXFS_TRY(DecodeZstdStream(next, {record_.orig_size, memory}, take,
                               context.interrupt()));
    if (of_decoded.Matches(checksum_) || of_stored.Matches(checksum_))
      return {};
    return Mismatch();
  }

  Error Mismatch() const {
    return {Code::kChecksum,
            "checksum mismatch: neither the decoded nor the stored bytes are " +
                checksum_.Text()};
  }

  /// Some writers flag entries as compressed that are not, and some compute the
  /// checksum over the stored instead of the decoded bytes. The checksum
  /// decides between these cases (sections 9.3 and 10). Without one, an entry
  /// with equal sizes that cannot be decoded counts as not compressed.
  Result<Buffer> DecodeAndCheck(Buffer stored,
                                const Interrupt& interrupt) const {
    const bool same_size = record_.disk_size == record_.orig_size;
    if (same_size && checksum_ && checksum_.Matches(stored.span())) {
      return stored;  // flagged compressed, stored raw
    }
    Buffer decoded(static_cast<size_t>(record_.orig_size));
    const Codec codec = container_->PickCodec(record_, stored.span());
    if (codec == Codec::kNone && !same_size) {
      return Error{Code::kCorrupt,
                   "flagged as compressed, but neither the entry nor the "
                   "header names a codec"};
    }
    Status status = Decode(codec, stored.span(), decoded.span(), interrupt);
    if (!status && !status.error().Permanent()) {
      return std::move(status).error();
    }
    if (!status && same_size && !checksum_) return stored;
    if (!status) return std::move(status).error();
    if (!checksum_.Matches(decoded.span()) &&
        !checksum_.Matches(stored.span())) {
      return Mismatch();
    }
    return decoded;
  }

  std::shared_ptr<const ShardContainer> container_;
  ShardRecord record_;
  Checksum checksum_;
  std::shared_ptr<AtomicVerdict> verdict_;
};

Codec ShardContainer::PickCodec(const ShardRecord& record, Bytes stored) const {
  if (!record.compressed()) return Codec::kNone;
  if (record.ambiguous_codec()) {
    return LooksLikeZstd(stored) ? Codec::kZstd : Codec::kLz4;
  }
  if (record.zstd()) return Codec::kZstd;
  if (record.lz4()) return Codec::kLz4;
  if (header_.compression_default == 1) return Codec::kZstd;
  if (header_.compression_default == 2) return Codec::kLz4;
  return Codec::kNone;
}

Checksum ShardContainer::StoredChecksum(const ShardRecord& record) const {
  // Value 0 means "no checksum" only if the flag is clear (section 10).
  const bool present =
      (header_.flags & kHasChecksums) != 0 || record.checksum != 0;
  return present ? Checksum{ChecksumKind::kCrc32c, record.checksum}
                 : Checksum{};
}

Checksum ShardContainer::ExpectedChecksum(const ShardRecord& record) const {
  return options_.verify ? StoredChecksum(record) : Checksum{};
}

std::shared_ptr<AtomicVerdict> ShardContainer::VerdictOf(uint32_t entry) const {
  return {verdicts_, &(*verdicts_)[entry]};
}

bool ShardContainer::Encoded(const ShardRecord& record) const {
  if (!record.compressed()) return false;
  return header_.role != kWShardRole || PickCodec(record, {}) != Codec::kNone;
}

Result<Buffer> ShardContainer::Payload(uint32_t entry,
                                       const ReadContext& context) const {
  return ShardBlock(Share(*this), entry).Produce(context);
}

bool ShardContainer::Streams(const ShardRecord& record) const {
  if (!Encoded(record) || record.ambiguous_codec() ||
      PickCodec(record, {}) != Codec::kZstd) {
    return false;
  }
  // Does not stream an entry with a decoded size that zstd cannot produce,
  // which is damage, nor one with equal sizes, whose bytes may be stored
  // uncompressed.
  return record.orig_size <= limits::kStreamedBytes &&
         record.disk_size != record.orig_size &&
         MayBeZstd(record.disk_size, record.orig_size);
}

std::optional<Error> ShardContainer::TooLarge(const ShardRecord& record,
                                              bool in_memory) const {
  const uint64_t size = Encoded(record) ? record.orig_size : record.disk_size;
  if (size <= limits::kDecodedBytes &&
      record.disk_size <= limits::kStoredBytes) {
    return std::nullopt;
  }
  if (!in_memory && Streams(record)) return std::nullopt;
  return Error{Code::kLimit,
               fmt::format("decodes {} bytes to {}, over the limit of {}",
                           record.disk_size, size, limits::kDecodedBytes)};
}

Result<std::shared_ptr<const Block>> ShardContainer::OpenStoredBlock(
    uint32_t entry, bool in_memory) const {
  if (std::optional<Error> large = TooLarge(Record(entry), in_memory)) {
    large->offset = ShardRecord::At(entry, kOrigSizeAt);
    return *std::move(large);
  }
  return std::shared_ptr<const Block>(
      std::make_shared<ShardBlock>(Share(*this), entry));
}

}  // namespace ctxfs::shard
