// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mcap/chunks.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"

namespace ctxfs::mcap {
namespace {

Error InChunk(const Chunk& chunk, Error error) {
  error.offset = chunk.record.at;
  return Within("chunk", std::move(error));
}

Status Fill(const Source& source, const ChunkFields& chunk, MutableBytes out,
            const ReadContext& context) {
  if (chunk.compression == Compression::kNone) {
    if (chunk.stored == out.size()) {
      return source.ReadAt(chunk.data, out, context);
    }
    return Error{Code::kCorrupt,
                 fmt::format("{} uncompressed bytes: the decoded size is {}",
                             chunk.stored, out.size())};
  }
  if (chunk.stored > limits::kStoredBytes) {
    return OverLimit("stored bytes", limits::kStoredBytes);
  }
  const Buffer stored =
      CTXFS_TRY(ReadBuffer(source, chunk.data, chunk.stored, "chunk", context));
  const auto decode =
      chunk.compression == Compression::kZstd ? &DecodeZstd : &DecodeLz4Frames;
  return decode(stored.span(), out, context.interrupt());
}

/// Reads, decodes and verifies a chunk.
Result<Buffer> DecodeChunk(const Source& source, const Chunk& chunk,
                           bool verify, const ReadContext& context) {
  CTXFS_TRY(CheckChunk(chunk));
  const ChunkFields fields =
      CTXFS_TRY(ReadChunk(source, chunk.record, context));
  if (fields.size != chunk.size || fields.compression != chunk.compression) {
    return InChunk(chunk, {Code::kCorrupt, "it is not what the index says"});
  }
  Buffer decoded(static_cast<size_t>(chunk.size));
  Status filled = Fill(source, fields, decoded.span(), context);
  if (!filled && !filled.error().Permanent()) return std::move(filled).error();
  if (!filled) return InChunk(chunk, std::move(filled).error());
  const Checksum checksum{ChecksumKind::kCrc32, fields.crc};
  if (verify && fields.crc != 0 && !checksum.Matches(decoded.span())) {
    return InChunk(chunk, {Code::kChecksum,
                           "checksum mismatch: the decoded bytes are not " +
                               checksum.Text()});
  }
  return decoded;
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

  // A chunk that cannot be decoded costs 1, because it fails at once.
  uint64_t cost() const override {
    return CheckChunk(chunk_) ? chunk_.size + chunk_.record.length : 1;
  }
  bool verifies() const override { return verify_; }
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (verdict_->load(std::memory_order_acquire) == Verdict::kFailed) {
      return InChunk(chunk_,
                     {Code::kCorrupt, "damaged: an earlier read failed"});
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

/// Sorts and counts the messages of a layout.
void Conclude(Layout& layout) {
  // Sorts by offset, too, instead of stably, because a stable sort needs half
  // as much memory again.
  std::ranges::sort(layout.places, {}, [](const Place& one) {
    return std::pair(one.fields.channel, one.at);
  });
  const Message* before = nullptr;
  for (const Place& place : layout.places) {
    const Message& one = place.fields;
    if (before == nullptr || before->channel != one.channel) {
      layout.counts.emplace_back(one.channel, 0);
    } else if (one.log_time < before->log_time &&
               (layout.unordered.empty() ||
                layout.unordered.back() != one.channel)) {
      layout.unordered.push_back(one.channel);
    }
    ++layout.counts.back().second;
    before = &one;
  }
}

}  // namespace

Status CheckChunk(const Chunk& chunk) {
  if (chunk.compression == Compression::kOther) {
    return InChunk(
        chunk, {Code::kUnsupported, "compression: it is neither zstd nor lz4"});
  }
  if (chunk.size <= limits::kDecodedBytes) return {};
  return InChunk(
      chunk, OverLimit(fmt::format("decodes to {} bytes, which is", chunk.size),
                       limits::kDecodedBytes));
}

Result<Layout> LayoutOf(Bytes decoded, std::vector<Record>* definitions,
                        const Request& request) {
  constexpr uint64_t kRecordsPerCheck = 4096;
  Layout layout;
  uint64_t records = 0;
  for (uint64_t at = 0; at < decoded.size();) {
    if (records++ % kRecordsPerCheck == 0) CTXFS_TRY(request.Check());
    const Bytes rest = decoded.subspan(static_cast<size_t>(at));
    const Record record = CTXFS_TRY(ParseRecord(rest, at, decoded.size()));
    at = record.end();
    if (record.defines() && definitions != nullptr) {
      CTXFS_TRY(AdmitGrowth(*definitions));
      definitions->push_back(record);
    }
    if (record.op != Op::kMessage) continue;
    const auto fields = ParseMessage(
        rest.subspan(kHeadSize, static_cast<size_t>(record.length)));
    if (!fields) return BadRecord(record);
    CTXFS_TRY(AdmitGrowth(layout.places));
    layout.places.push_back({*fields, static_cast<uint32_t>(record.content()),
                             static_cast<uint32_t>(record.length)});
  }
  Conclude(layout);
  return layout;
}

std::span<const Place> Layout::Messages(uint16_t channel) const {
  const auto of = [](const Place& one) { return one.fields.channel; };
  return {std::ranges::lower_bound(places, channel, {}, of),
          std::ranges::upper_bound(places, channel, {}, of)};
}

void Chunks::Set(std::vector<Chunk> chunks, std::set<uint16_t> unordered,
                 Verdict verdict) {
  chunks_ = std::move(chunks);
  verdicts_ = std::vector<AtomicVerdict>(chunks_.size());
  for (AtomicVerdict& one : verdicts_) one.store(verdict);
  const MutexLock lock(mutex_);
  unordered_ = std::move(unordered);
}

std::shared_ptr<const Block> Chunks::BlockOf(
    const Chunk& chunk, std::shared_ptr<AtomicVerdict> verdict) const {
  return std::make_shared<const ChunkBlock>(Key{owner_, chunk.record.at},
                                            source_, chunk, verify_,
                                            std::move(verdict));
}

std::shared_ptr<const Block> Chunks::BlockOf(uint32_t number) const {
  return BlockOf(chunks_[number],
                 std::shared_ptr<AtomicVerdict>(
                     std::const_pointer_cast<Chunks>(shared_from_this()),
                     &verdicts_[number]));
}

void Chunks::Keep(uint32_t number, const std::shared_ptr<const Layout>& layout,
                  BlockCache& cache) const {
  constexpr uint64_t kShare = 8;
  const uint64_t most = cache.budget() / kShare;
  Result<BlockCache::Lease> lease = cache.Lend(layout->bytes());
  LruMap<uint32_t, Kept>::Removed removed;  // freed after unlocking
  const MutexLock lock(mutex_);
  unordered_.insert(layout->unordered.begin(), layout->unordered.end());
  if (!lease || layout->bytes() > most) return;
  removed = kept_.Put(number, {layout, *std::move(lease)});
  for (const auto& old : removed) kept_bytes_ -= old.second.layout->bytes();
  kept_bytes_ += layout->bytes();
  while (kept_bytes_ > most) {
    removed.splice(removed.end(), kept_.RemoveOldest());
    kept_bytes_ -= removed.back().second.layout->bytes();
  }
}

Result<std::shared_ptr<const Layout>> Chunks::Find(
    uint32_t number, const ReadContext& context) const {
  {
    const MutexLock lock(mutex_);
    if (const Kept* const kept = kept_.Use(number)) return kept->layout;
  }
  const BlockCache::Pinned decoded = CTXFS_TRY(context.Get(*BlockOf(number)));
  Result<Layout> made = LayoutOf(decoded->span(), nullptr, context);
  if (!made && !made.error().Permanent()) return made.error();
  if (!made) return InChunk(chunks_[number], std::move(made).error());
  if (CountsDigest(made->counts) != chunks_[number].counts) {
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
