// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/seekable_deflate.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/deflate.h"
#include "core/compressed/stored_reader.h"
#include "core/content/block.h"
#include "core/content/block_cache.h"

namespace ctxfs {
namespace {

constexpr uint64_t kPart = 8 * limits::kMiB;
constexpr size_t kPiece = 256 * limits::kKiB;

// With this number of places, a stream of 100 GB has a place every 24 MiB.
constexpr uint64_t kMaxPlaces = 4096;

}  // namespace

/// A decoder that reads the stream forward from a place.
class SeekableDeflate::Run {
 public:
  /// Starts at the start of the stream.
  explicit Run(SourcePtr stored) : reader_(std::move(stored), 0) {}
  /// Starts at the start of `part`. `place` must come from Save; `sum` is the
  /// CRC-32 of all bytes before `part`.
  Run(SourcePtr stored, uint64_t part, uint32_t sum, Bytes place)
      : part_(part),
        sum_(sum),
        decoder_(place.subspan(sizeof(uint64_t))),
        reader_(std::move(stored), LoadLe<uint64_t>(place.data())) {}

  static uint64_t PlaceBytes() {
    return sizeof(uint64_t) + DeflateDecoder::StateBytes();
  }
  void Save(MutableBytes place) const {
    StoreLe(reader_.at(), place.data());
    decoder_.SaveState(place.subspan(sizeof(uint64_t)));
  }

  /// The part where the run started.
  uint64_t part() const { return part_; }
  /// The CRC-32 of the stream up to the current position.
  uint32_t sum() const { return sum_; }
  /// Whether the stream has ended.
  bool finished() const { return finished_; }

  /// Decodes the next bytes. Returns false if the stream ends before `out` is
  /// full.
  Result<bool> Fill(MutableBytes out, const Request& request) {
    while (!out.empty() && !finished_) {
      CTXFS_TRY(request.Check());
      const Bytes in = CTXFS_TRY(reader_.Peek(request));
      const MutableBytes piece = out.first(std::min(kPiece, out.size()));
      const StreamStep step = CTXFS_TRY(decoder_.Decode(in, piece));
      reader_.Skip(step.taken);
      sum_ = Crc32(piece.first(step.made), sum_);
      out = out.subspan(step.made);
      finished_ = step.finished;
      if (in.empty() && step.made == 0) break;
    }
    return out.empty();
  }
  /// Like Fill, but discards the bytes.
  Result<bool> Pass(uint64_t size, const Request& request) {
    if (unwanted_.size() == 0) unwanted_ = Buffer(kPiece);
    for (size_t piece = 0; size > 0; size -= piece) {
      piece = static_cast<size_t>(std::min<uint64_t>(kPiece, size));
      const MutableBytes out = unwanted_.span().first(piece);
      if (!CTXFS_TRY(Fill(out, request))) return false;
    }
    return true;
  }

 private:
  uint64_t part_ = 0;
  uint32_t sum_ = 0;
  DeflateDecoder decoder_;
  StoredReader reader_;
  Buffer unwanted_;
  bool finished_ = false;
};

/// The state of a decoder at the start of a part, as a cache block. Only a run
/// that has reached the part can produce it.
class SeekableDeflate::Place final : public Block {
 public:
  explicit Place(Key key, const Run* run = nullptr) : Block(key), run_(run) {}

  uint64_t cost() const override { return Run::PlaceBytes(); }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    Buffer place(static_cast<size_t>(Run::PlaceBytes()));
    run_->Save(place.span());
    return place;
  }

 private:
  const Run* const run_;
};

SeekableDeflate::SeekableDeflate(const DeflateData& data,
                                 std::shared_ptr<AtomicVerdict> verdict)
    : DecodedParts({std::make_shared<const SliceSource>(
                        data.source, data.offset, data.stored_size),
                    NewOwner(), data.size, kPart, 0}),
      offset_(data.offset),
      checksum_(data.checksum),
      verdict_(std::move(verdict)),
      parts_((data.size + kPart - 1) / kPart) {}

Content SeekableDeflate::Open() const {
  return {Computed{shared_from_this(), 0}, layout().size};
}

Status SeekableDeflate::Compute(uint64_t offset, MutableBytes out,
                                const ReadContext& context) const {
  CTXFS_TRY(Verify(context));
  return ReadParts(offset, out, context);
}

Status SeekableDeflate::Verify(const ReadContext& context) const {
  const auto done = [this] {
    return ready_.load(std::memory_order_acquire) ||
           verdict_->load(std::memory_order_acquire) == Verdict::kFailed;
  };
  if (!done()) {
    Status scanned = context.cache().Once(
        {layout().owner, parts_}, context, done,
        [this](const ReadContext& shared) { return Scan(shared); });
    if (!scanned) return scanned;
  }
  if (ready_.load(std::memory_order_acquire)) return {};
  return Error{Code::kCorrupt, "damaged: an earlier read failed", offset_};
}

Status SeekableDeflate::Scan(const ReadContext& context) const {
  // A byte of deflate decodes to up to 1032 bytes, slightly more than a request
  // may cause (kWorkFactor). Therefore a stored byte is charged at most half of
  // kWorkFactor. The other half allows the request to decode its part again.
  const uint64_t most =
      CheckedMul(layout().stored->size(), limits::kWorkFactor / 2)
          .value_or(UINT64_MAX);
  CTXFS_TRY(context.Charge(std::min(layout().size, most)));
  if (Status decoded = Index(context); !decoded) {
    Error error = std::move(decoded).error();
    if (error.code == Code::kCorrupt || error.code == Code::kChecksum) {
      verdict_->store(Verdict::kFailed, std::memory_order_release);
      context.cache().CountVerdict(Verdict::kFailed);
      error.offset = offset_;
    }
    return error;
  }
  if (checksum_) {
    verdict_->store(Verdict::kPassed, std::memory_order_release);
  }
  ready_.store(true, std::memory_order_release);
  return {};
}

Status SeekableDeflate::Index(const ReadContext& context) const {
  const uint64_t room = context.cache().budget() / 4 / Run::PlaceBytes();
  const uint64_t places = std::clamp<uint64_t>(room, 1, kMaxPlaces);
  spacing_ = std::max<uint64_t>(1, (parts_ + places - 1) / places);
  sums_.clear();
  Run run(layout().stored);
  const Error wrong_size{
      Code::kCorrupt,
      fmt::format("deflate: does not decode to {} bytes", layout().size)};
  for (uint64_t part = 0; part < parts_; ++part) {
    if (part > 0 && part % spacing_ == 0) {
      CTXFS_TRY(context.Get(Place(KeyOfPlace(part), &run)));
    }
    if (!CTXFS_TRY(run.Pass(PartSize(part), context))) return wrong_size;
    CTXFS_TRY(AdmitGrowth(sums_));
    sums_.push_back(run.sum());
  }
  // Decoding one more byte tests whether the stream ends here.
  if (CTXFS_TRY(run.Pass(1, context)) || !run.finished()) return wrong_size;
  if (!checksum_ || run.sum() == checksum_.value) return {};
  return Error{
      Code::kChecksum,
      "checksum mismatch: the decoded bytes are not " + checksum_.Text()};
}

SeekableDeflate::Run SeekableDeflate::Nearest(
    uint64_t part, const ReadContext& context) const {
  // Makes the cache evict parts before places, which are much smaller.
  std::vector<Key> places;
  for (uint64_t at = spacing_; at < parts_; at += spacing_) {
    places.push_back(KeyOfPlace(at));
  }
  context.cache().Touch(places);
  for (uint64_t at = part; at > 0; at = (at - 1) / spacing_ * spacing_) {
    const auto kept = context.cache().FindKept(Place(KeyOfPlace(at)));
    if (kept == nullptr) continue;
    return {layout().stored, at, sums_[at - 1], kept->span()};
  }
  return Run(layout().stored);
}

Result<Buffer> SeekableDeflate::DecodePart(uint64_t part,
                                           const ReadContext& context) const {
  Run run = Nearest(part, context);
  Buffer decoded(static_cast<size_t>(PartSize(part)));
  for (uint64_t at = run.part(); at <= part; ++at) {
    if (at < part) CTXFS_TRY(context.Charge(kPart));
    const bool whole = CTXFS_TRY(at < part ? run.Pass(kPart, context)
                                           : run.Fill(decoded.span(), context));
    if (!whole || run.sum() != sums_[at]) return Changed(offset_);
    const bool keeps = (at + 1) % spacing_ == 0 || at == part;
    if (keeps && at + 1 < parts_) {
      CTXFS_TRY(context.Get(Place(KeyOfPlace(at + 1), &run)));
    }
  }
  return decoded;
}

}  // namespace ctxfs
