// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/inflate_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "core/base/limits.h"

namespace ctxfs::zip {
namespace {

constexpr uint64_t kPiece = 256 * limits::kKiB;
constexpr uint64_t kPart = 8 * limits::kMiB;
constexpr uint64_t kMaxPlaces = 64;
constexpr size_t kMaxIndexes = 64;

}  // namespace

Result<Bytes> StoredPieces::Next(const Request& request) {
  const uint64_t size = std::min(kPiece, end_ - at_);
  if (size == 0) return Bytes();
  if (piece_.size() < size) piece_ = Buffer(static_cast<size_t>(size));
  const MutableBytes piece = piece_.span().first(static_cast<size_t>(size));
  CTXFS_TRY(source_.ReadAt(
      at_, piece,
      request.With(Ahead{end_ - at_ - size, Ahead::Likelihood::kIfOnward})));
  at_ += size;
  return Bytes(piece);
}

class InflateIndex::Part final : public Block {
 public:
  Part(std::shared_ptr<const InflateIndex> index, uint64_t part)
      : Block({index->owner_, part}), index_(std::move(index)) {}

  uint64_t cost() const override { return index_->PartSize(key().index); }
  bool verifies() const override {
    return static_cast<bool>(index_->data_.checksum);
  }
  const Source* made_from() const override {
    return index_->data_.source.get();
  }
  Result<Buffer> Produce(const ReadContext& context) const override {
    return index_->DecodePart(key().index, context);
  }

 private:
  const std::shared_ptr<const InflateIndex> index_;
};

/// A decoder that goes through a member from a place on.
class InflateIndex::Run {
 public:
  /// From the start.
  explicit Run(const DeflateData& data)
      : pieces_(*data.source, data.offset, data.stored_size) {}
  /// From a place at the start of `part`, as Save has written it.
  Run(const DeflateData& data, uint64_t part, Bytes place)
      : taken_(LoadLe<uint64_t>(place.data())),
        part_(part),
        decoder_(place.subspan(sizeof(taken_))),
        pieces_(*data.source, data.offset + taken_, data.stored_size - taken_) {
  }

  static uint64_t PlaceBytes() {
    return sizeof(uint64_t) + DeflateDecoder::StateBytes();
  }
  void Save(MutableBytes place) const {
    StoreLe(taken_, place.data());
    decoder_.SaveState(place.subspan(sizeof(taken_)));
  }

  /// The part that it decodes next.
  uint64_t part() const { return part_; }
  void EnterPart(uint64_t part) { part_ = part; }

  /// Whether the stream has ended.
  bool finished() const { return finished_; }

  /// Decodes the next bytes. Returns their number, which is less than that of
  /// `out` only if the stream or the stored data ends before.
  Result<size_t> Fill(MutableBytes out, const ReadContext& context) {
    size_t made = 0;
    while (made < out.size() && !finished_) {
      CTXFS_TRY(context.Check());
      if (in_.empty()) {
        in_ = CTXFS_TRY(pieces_.Next(context));
      }
      const bool ended = in_.empty();
      const StreamStep step = CTXFS_TRY(decoder_.Decode(
          in_, out.subspan(made, std::min(kPiece, out.size() - made))));
      in_ = in_.subspan(step.taken);
      taken_ += step.taken;
      made += step.made;
      finished_ = step.finished;
      if (ended && step.made == 0) break;
    }
    return made;
  }

 private:
  uint64_t taken_ = 0;  // bytes of the stored data
  uint64_t part_ = 0;
  DeflateDecoder decoder_;
  StoredPieces pieces_;
  Bytes in_;
  bool finished_ = false;
};

/// The state of the decoder at the start of a part, as a block of the cache.
/// Only a run that has reached the part can produce it.
class InflateIndex::Place final : public Block {
 public:
  Place(const InflateIndex& index, uint64_t part, const Run* run = nullptr)
      : Block({index.owner_, index.parts_ + 1 + part}), run_(run) {}

  uint64_t cost() const override { return Run::PlaceBytes(); }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    Buffer place(static_cast<size_t>(Run::PlaceBytes()));
    run_->Save(place.span());
    return place;
  }

 private:
  const Run* const run_;
};

InflateIndex::InflateIndex(DeflateData data,
                           std::shared_ptr<AtomicVerdict> verdict)
    : data_(std::move(data)),
      verdict_(std::move(verdict)),
      parts_((data_.size + kPart - 1) / kPart),
      spacing_((parts_ + kMaxPlaces - 1) / kMaxPlaces) {}

uint64_t InflateIndex::PartSize(uint64_t part) const {
  return std::min(kPart, data_.size - part * kPart);
}

Content InflateIndex::Open() const {
  return {Computed{shared_from_this(), 0}, data_.size};
}

Status InflateIndex::Compute(uint64_t offset, MutableBytes out,
                             const ReadContext& context) const {
  while (!out.empty()) {
    const Part part(shared_from_this(), offset / kPart);
    const BlockCache::Pinned bytes = CTXFS_TRY(context.Get(part));
    CTXFS_TRY(part.CheckUnchanged());
    const Bytes rest =
        bytes->span().subspan(static_cast<size_t>(offset % kPart));
    const size_t length = std::min(rest.size(), out.size());
    std::copy_n(rest.data(), length, out.data());
    out = out.subspan(length);
    offset += length;
  }
  return {};
}

Status InflateIndex::Verify(const ReadContext& context) const {
  const auto done = [this] {
    return ready_.load(std::memory_order_acquire) ||
           verdict_->load(std::memory_order_acquire) == Verdict::kFailed;
  };
  if (!done()) {
    Status scanned = context.cache().Once(
        {owner_, parts_}, context, done,
        [this](const ReadContext& shared) { return Scan(shared); });
    if (!scanned) return scanned;
  }
  if (ready_.load(std::memory_order_acquire)) return {};
  return Error{Code::kCorrupt, "damaged: an earlier read failed", data_.offset};
}

Status InflateIndex::Scan(const ReadContext& context) const {
  // Deflate makes up to 1032 bytes of one, a little more than a request may
  // cause (kWorkFactor). So at most half of kWorkFactor is counted for a stored
  // byte, which leaves room to decode the part that is read once more.
  const std::optional<uint64_t> most =
      CheckedMul(data_.stored_size, limits::kWorkFactor / 2);
  CTXFS_TRY(context.Charge(std::min(data_.size, most.value_or(UINT64_MAX))));
  if (Status decoded = Decode(context); !decoded) {
    Error error = std::move(decoded).error();
    if (error.code == Code::kCorrupt || error.code == Code::kChecksum) {
      verdict_->store(Verdict::kFailed, std::memory_order_release);
      context.cache().CountVerdict(Verdict::kFailed);
      error.offset = data_.offset;
    }
    return error;
  }
  if (data_.checksum) {
    verdict_->store(Verdict::kPassed, std::memory_order_release);
  }
  ready_.store(true, std::memory_order_release);
  return {};
}

Status InflateIndex::Decode(const ReadContext& context) const {
  Run run(data_);
  Checksummer sum(data_.checksum.kind);
  Buffer scratch(static_cast<size_t>(kPiece));
  const Error wrong_size{
      Code::kCorrupt,
      fmt::format("deflate: does not decode to {} bytes", data_.size)};
  static_assert(kPart % kPiece == 0);
  for (uint64_t at = 0; at < data_.size; at += kPiece) {
    if (at % (spacing_ * kPart) == 0 && at > 0) {
      run.EnterPart(at / kPart);
      CTXFS_TRY(Keep(run, context));
    }
    const MutableBytes out = scratch.span().first(
        static_cast<size_t>(std::min(kPiece, data_.size - at)));
    const size_t made = CTXFS_TRY(run.Fill(out, context));
    if (made < out.size()) return wrong_size;
    sum.Update(out);
  }
  // Room for one more byte shows whether the stream ends here.
  const size_t more = CTXFS_TRY(run.Fill(scratch.span().first(1), context));
  if (more > 0 || !run.finished()) return wrong_size;
  if (sum.Matches(data_.checksum)) return {};
  return Error{
      Code::kChecksum,
      "checksum mismatch: the decoded bytes are not " + data_.checksum.Text()};
}

InflateIndex::Run InflateIndex::Nearest(uint64_t part,
                                        const ReadContext& context) const {
  std::vector<uint64_t> places;
  {
    const MutexLock lock(mutex_);
    places.assign(recent_.begin(), recent_.end());
  }
  for (uint64_t at = spacing_; at <= part; at += spacing_) places.push_back(at);
  std::sort(places.begin(), places.end(), std::greater<>());
  for (const uint64_t at : places) {
    if (at > part || at == 0) continue;
    const BlockCache::Pinned kept = context.cache().FindKept(Place(*this, at));
    if (kept != nullptr) return {data_, at, kept->span()};
  }
  return Run(data_);
}

Status InflateIndex::Keep(const Run& run, const ReadContext& context) const {
  const Result<BlockCache::Pinned> kept =
      context.Get(Place(*this, run.part(), &run));
  return kept ? Status() : Status(kept.error());
}

void InflateIndex::NoteRecent(uint64_t part) const {
  const MutexLock lock(mutex_);
  recent_[next_recent_++ % recent_.size()] = part;
}

Result<Buffer> InflateIndex::DecodePart(uint64_t part,
                                        const ReadContext& context) const {
  CTXFS_TRY(Verify(context));
  Run run = Nearest(part, context);
  Buffer decoded(static_cast<size_t>(PartSize(part)));
  Buffer skipped(run.part() < part ? static_cast<size_t>(kPart) : 0);
  for (uint64_t at = run.part(); at <= part; ++at) {
    if (at < part) {
      CTXFS_TRY(context.Charge(kPart));
    }
    const MutableBytes out = at < part ? skipped.span() : decoded.span();
    const size_t made = CTXFS_TRY(run.Fill(out, context));
    if (made < out.size()) {  // it had as many when it was verified
      return Error{Code::kStale, "the member changed while it was read",
                   data_.offset};
    }
    run.EnterPart(at + 1);
    const bool keeps = (at + 1) % spacing_ == 0 || at == part;
    if (!keeps || at + 1 == parts_) continue;
    CTXFS_TRY(Keep(run, context));
  }
  NoteRecent(part + 1);
  return decoded;
}

std::shared_ptr<const InflateIndex> InflateIndexes::Get(
    uint32_t number, DeflateData data,
    std::shared_ptr<AtomicVerdict> verdict) const {
  const bool checked = static_cast<bool>(data.checksum);
  const MutexLock lock(mutex_);
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
        return kept.number == number && kept.checked == checked;
      });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
  } else {
    kept_.push_front({number, checked,
                      std::make_shared<const InflateIndex>(
                          std::move(data), std::move(verdict))});
    if (kept_.size() > kMaxIndexes) kept_.pop_back();
  }
  return kept_.front().index;
}

}  // namespace ctxfs::zip
