// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/chunks.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/heap/heap_meter.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/formats/mcap/limits.h"

namespace ctxfs::mcap {
namespace {

Error InChunk(const Chunk& chunk, Error error) {
  error.offset = chunk.at;
  return Within("chunk", std::move(error));
}

Status Decode(Compression compression, Bytes stored, MutableBytes out,
              const Interrupt& interrupt) {
  return compression == Compression::kZstd
             ? DecodeZstd(stored, out, interrupt)
             : DecodeLz4Frames(stored, out, interrupt);
}

Status Fill(const Source& source, const ChunkRecord& record,
            Compression compression, MutableBytes out,
            const ReadContext& context) {
  if (compression == Compression::kNone) {
    if (record.stored != out.size()) {
      return Error{Code::kCorrupt,
                   fmt::format("{} uncompressed bytes: the decoded size is {}",
                               record.stored, out.size())};
    }
    return source.ReadAt(record.data, out, context);
  }
  if (record.stored > limits::kStoredBytes) {
    return OverLimit("stored bytes", limits::kStoredBytes);
  }
  const Buffer stored = CTXFS_TRY(
      ReadBuffer(source, record.data, record.stored, "chunk", context));
  return Decode(compression, stored.span(), out, context.interrupt());
}

/// The decoded records of a chunk, read from `source`.
class ChunkBlock final : public Block {
 public:
  ChunkBlock(Key key, std::shared_ptr<const Source> source, const Chunk& chunk,
             bool verify, std::shared_ptr<AtomicVerdict> verdict)
      : Block(key),
        source_(std::move(source)),
        chunk_(chunk),
        verify_(verify),
        verdict_(std::move(verdict)) {}

  // A chunk that cannot be decoded fails at once.
  uint64_t cost() const override {
    return ChunkFault(chunk_) ? 1 : chunk_.size + chunk_.length;
  }
  bool verifies() const override { return verify_; }
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (verdict_->load(std::memory_order_acquire) == Verdict::kFailed) {
      return Error{Code::kCorrupt, "chunk: damaged: an earlier read failed",
                   chunk_.at};
    }
    Result<Buffer> decoded = DecodeChunk(*source_, chunk_, verify_, context);
    if (decoded) {
      verdict_->store(Verdict::kPassed, std::memory_order_release);
    } else if (IsDamage(decoded.error())) {
      verdict_->store(Verdict::kFailed, std::memory_order_release);
    }
    return decoded;
  }

 private:
  const std::shared_ptr<const Source> source_;
  const Chunk chunk_;
  const bool verify_;
  const std::shared_ptr<AtomicVerdict> verdict_;
};

}  // namespace

std::optional<Error> ChunkFault(const Chunk& chunk) {
  if (chunk.compression == Compression::kOther) {
    return InChunk(
        chunk, {Code::kUnsupported, "compression: it is neither zstd nor lz4"});
  }
  if (chunk.size > limits::kDecodedBytes) {
    return InChunk(chunk, OverLimit(fmt::format("decodes to {} bytes, which is",
                                                chunk.size),
                                    limits::kDecodedBytes));
  }
  return std::nullopt;
}

Result<Buffer> DecodeChunk(const Source& source, const Chunk& chunk,
                           bool verify, const ReadContext& context) {
  if (std::optional<Error> fault = ChunkFault(chunk)) return *std::move(fault);
  const Record indexed = CTXFS_TRY(
      ReadIndexed(source, Op::kChunk, chunk.at, chunk.length, context));
  const ChunkRecord record =
      CTXFS_TRY(ReadChunkRecord(source, indexed, context));
  if (record.size != chunk.size || record.compression != chunk.compression) {
    return InChunk(chunk, {Code::kCorrupt, "it is not what the index says"});
  }
  Buffer decoded(static_cast<size_t>(chunk.size));
  Status filled =
      Fill(source, record, chunk.compression, decoded.span(), context);
  if (!filled && !filled.error().Permanent()) return std::move(filled).error();
  if (!filled) return InChunk(chunk, std::move(filled).error());
  const Checksum checksum{ChecksumKind::kCrc32, record.crc};
  if (verify && record.crc != 0 && !checksum.Matches(decoded.span())) {
    return InChunk(chunk, {Code::kChecksum,
                           "checksum mismatch: the decoded bytes are not " +
                               checksum.Text()});
  }
  return decoded;
}

Result<Layout> Layout::Of(Bytes decoded, const Request& request) {
  Layout layout;
  std::vector<Place>& places = layout.places_;
  CTXFS_TRY(ForEachRecord(
      decoded, request, [&](const Record& record, Bytes content) -> Status {
        if (record.op != Op::kMessage) return {};
        const auto fields = ParseMessage(content);
        if (!fields) return BadRecord(record, kFieldPastEnd);
        CTXFS_TRY(AdmitGrowth(places));
        places.push_back({*fields, static_cast<uint32_t>(record.content()),
                          static_cast<uint32_t>(record.length)});
        return {};
      }));
  std::ranges::stable_sort(places, {}, &Place::channel);
  for (size_t i = 0; i < places.size(); ++i) {
    const uint16_t channel = places[i].channel();
    const bool first = i == 0 || places[i - 1].channel() != channel;
    if (first) layout.counts_.emplace_back(channel, 0);
    ++layout.counts_.back().second;
    const bool back =
        !first && places[i].fields.log_time < places[i - 1].fields.log_time;
    if (back &&
        (layout.unordered_.empty() || layout.unordered_.back() != channel)) {
      layout.unordered_.push_back(channel);
    }
  }
  return layout;
}

std::span<const Place> Layout::Messages(uint16_t channel) const {
  const auto first =
      std::ranges::lower_bound(places_, channel, {}, &Place::channel);
  const auto last =
      std::ranges::upper_bound(places_, channel, {}, &Place::channel);
  return {first, last};
}

Result<BlockCache::Pinned> Chunks::Decode(const Chunk& chunk,
                                          const ReadContext& context) const {
  const auto verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  return context.Get(
      ChunkBlock({owner_, chunk.at}, source_, chunk, verify_, verdict));
}

void Chunks::Set(std::vector<Chunk> chunks, Verdict verdict) {
  chunks_ = std::move(chunks);
  verdicts_ = std::vector<AtomicVerdict>(chunks_.size());
  for (AtomicVerdict& one : verdicts_) one.store(verdict);
}

std::optional<Error> Chunks::Fault(uint32_t number) const {
  return ChunkFault(chunks_[number]);
}

std::shared_ptr<const Block> Chunks::BlockOf(uint32_t number) const {
  return std::make_shared<const ChunkBlock>(
      Key{owner_, chunks_[number].at}, source_, chunks_[number], verify_,
      std::shared_ptr<AtomicVerdict>(
          std::const_pointer_cast<Chunks>(shared_from_this()),
          &verdicts_[number]));
}

std::shared_ptr<const Layout> Chunks::FindKept(uint32_t number) const {
  const MutexLock lock(mutex_);
  const Kept* const found = kept_.Use(number);
  return found == nullptr ? nullptr : found->layout;
}

void Chunks::Keep(uint32_t number, const std::shared_ptr<const Layout>& layout,
                  BlockCache& cache) const {
  constexpr uint64_t kShare = 8;
  const uint64_t most = cache.budget() / kShare;
  Result<BlockCache::Lease> lease = cache.Lend(layout->bytes());
  LruMap<uint32_t, Kept>::Removed removed;  // freed without the lock
  const MutexLock lock(mutex_);
  unordered_.insert(layout->unordered().begin(), layout->unordered().end());
  if (!lease || layout->bytes() > most) return;
  removed = kept_.Put(number, {layout, *std::move(lease)});
  for (const auto& old : removed) kept_bytes_ -= old.second.layout->bytes();
  kept_bytes_ += layout->bytes();
  while (kept_bytes_ > most) {
    removed.splice(removed.end(), kept_.RemoveOldest());
    kept_bytes_ -= removed.back().second.layout->bytes();
  }
}

Result<std::shared_ptr<const Layout>> Chunks::LayoutOf(
    uint32_t number, const ReadContext& context) const {
  if (auto kept = FindKept(number)) return kept;
  const BlockCache::Pinned decoded = CTXFS_TRY(context.Get(*BlockOf(number)));
  Result<Layout> made = Layout::Of(decoded->span(), context);
  if (!made && !made.error().Permanent()) return made.error();
  if (!made) return InChunk(chunks_[number], std::move(made).error());
  if (CountsDigest(made->counts()) != chunks_[number].counts) {
    return InChunk(
        chunks_[number],
        {Code::kCorrupt, "index: it has other messages than the index says"});
  }
  auto layout = std::make_shared<const Layout>(*std::move(made));
  Keep(number, layout, context.cache());
  return layout;
}

std::set<uint16_t> Chunks::Unordered() const {
  const MutexLock lock(mutex_);
  return unordered_;
}

}  // namespace ctxfs::mcap
