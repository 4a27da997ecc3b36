// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/compressed_source.h"

#include <algorithm>
#include <utility>

#include "core/compressed/decoder_checkpoints.h"
#include "core/compressed/saved_index.h"
#include "core/content/block.h"
#include "core/content/block_cache.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"

namespace ctxfs {
namespace {

/// Returns the cache of `context`, or a static one if that cache has no budget.
/// The cache has none if the file is opened before the mount exists, or by a
/// program that does not mount.
BlockCache& CacheOf(const ReadContext& context) {
  static BlockCache own(64 * limits::kMiB);
  return context.cache().budget() > 0 ? context.cache() : own;
}

// Number of parts at the start of a file that the first pass caches, because
// parsers read a file from its start.
constexpr uint64_t kKeptAtFirst = 48 * limits::kMiB / DecodedIndex::kPart;

// The cache key of the first pass. Keys of parts are their numbers, which are
// lower.
constexpr uint64_t kPass = UINT64_MAX;

/// A Block for a part that is already decoded.
class DecodedPart final : public Block {
 public:
  DecodedPart(Key key, Bytes bytes) : Block(key), bytes_(bytes) {}

  uint64_t cost() const override { return bytes_.size(); }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    Buffer copy(bytes_.size());
    std::copy(bytes_.begin(), bytes_.end(), copy.data());
    return copy;
  }

 private:
  const Bytes bytes_;
};

}  // namespace

CompressedSource::CompressedSource(SourcePtr compressed,
                                   std::shared_ptr<const DecodedIndex> index,
                                   std::unique_ptr<OpeningReads> reads,
                                   uint64_t owner, BlockCache& cache)
    : DerivedSource(compressed),
      DecodedParts({std::move(compressed), owner, index->size,
                    DecodedIndex::kPart, index->memory}),
      index_(std::move(index)),
      reads_(std::move(reads)),
      cache_(cache) {}

CompressedSource::~CompressedSource() {
  DecoderCheckpoints::Of().Drop(layout().owner);
}

std::string CompressedSource::name() const {
  const std::string whole = from().name();
  const PlainName plain = WithoutCompression(whole);
  if (plain.stem.empty()) return whole;
  return std::string(plain.stem) + std::string(plain.suffix);
}

Status CompressedSource::ReadAt(uint64_t offset, MutableBytes out,
                                const Request& request) const {
  if (!InBounds(offset, out.size(), size())) {
    return Error{Code::kCorrupt, "read past the end", offset};
  }
  if (reads_->Find(offset, out)) return CheckUnchanged();
  CTXFS_TRY(ReadParts(offset, out, ReadContext(cache_, request.WithoutWork())));
  reads_->Add(offset, out);
  return {};
}

void CompressedSource::EndOpening(PersistentCache* kept) const {
  if (kept != nullptr) KeepIndex(*kept, layout().stored, *index_, *reads_);
}

Result<Buffer> CompressedSource::DecodePart(uint64_t part,
                                            const ReadContext& request) const {
  const uint64_t start = part * DecodedIndex::kPart;
  const Place& place = index_->PlaceBefore(start);
  StoppedDecoder run =
      DecoderCheckpoints::Of().Take(layout().owner, place.decoded, start);
  if (run.decoder == nullptr) {
    run = {layout().owner, place.decoded,
           index_->DecoderAt(layout().stored, place)};
  }
  Buffer decoded(static_cast<size_t>(PartSize(part)));
  Buffer skipped(run.at < start ? DecodedIndex::kPart : 0);
  while (run.at < start) {
    if (const Status checked = request.Check(); !checked) {
      // Keeps the decoder, so that the next read continues here.
      DecoderCheckpoints::Of().Keep(std::move(run), cache_);
      return checked.error();
    }
    const MutableBytes out = skipped.span().first(static_cast<size_t>(
        std::min<uint64_t>(skipped.size(), start - run.at)));
    const size_t made = CTXFS_TRY(run.decoder->Fill(out, request));
    if (made < out.size()) return Changed();
    run.at += made;
  }
  const size_t made = CTXFS_TRY(run.decoder->Fill(decoded.span(), request));
  if (made < decoded.size() ||
      PartHash(decoded.span()) != index_->hashes[static_cast<size_t>(part)]) {
    return Changed();
  }
  run.at += made;
  DecoderCheckpoints::Of().Keep(std::move(run), cache_);
  return decoded;
}

namespace {

/// Decodes the whole file for its index; charges the memory to `cache`.
Result<std::shared_ptr<const DecodedIndex>> MakeIndex(
    const SourcePtr& compressed, Compression compression, PlaceUse use,
    uint64_t owner, BlockCache& cache, const ReadContext& context) {
  std::shared_ptr<const DecodedIndex> index;
  const auto decode = [&](uint64_t memory) {
    return [&, memory](const ReadContext& shared) -> Status {
      const ReadContext within(cache, shared);
      index = CTXFS_TRY(IndexCompressed(
          compressed, compression, memory, shared,
          [&](uint64_t part, Bytes bytes) {
            if (part >= kKeptAtFirst) return;
            // A part that does not fit is decoded again later.
            (void)within.Get(DecodedPart({owner, part}, bytes));
          },
          use));
      return {};
    };
  };
  const auto unknown = [] { return false; };
  const ReadContext own(cache, context.WithoutWork());
  const uint64_t usual = UsualMemory(compression);
  Status done = cache.Once({owner, kPass}, own, unknown, decode(usual), usual);
  if (!done && done.error().code == Code::kNoMemory) {
    done = cache.Once({owner, kPass}, own, unknown, decode(kMaxDecoderMemory),
                      kMaxDecoderMemory);
  }
  if (!done) return std::move(done).error();
  return index;
}

}  // namespace

Result<std::shared_ptr<const CompressedSource>> OpenCompressed(
    SourcePtr compressed, Compression compression, PersistentCache* kept,
    const ReadContext& context) {
  BlockCache& cache = CacheOf(context);
  const uint64_t owner = NewOwner();
  auto reads = std::make_unique<OpeningReads>();
  std::shared_ptr<const DecodedIndex> index;
  if (kept != nullptr) {
    index = TakeIndex(*kept, compressed, compression, *reads, context);
  }
  if (index == nullptr) {
    const bool keeps = kept != nullptr && compressed->descriptor() >= 0;
    index =
        CTXFS_TRY(MakeIndex(compressed, compression,
                            keeps ? PlaceUse::kKept : PlaceUse::kThisProcess,
                            owner, cache, context));
    if (kept != nullptr) reads->Record();
  }
  return std::make_shared<const CompressedSource>(
      std::move(compressed), std::move(index), std::move(reads), owner, cache);
}

}  // namespace ctxfs
