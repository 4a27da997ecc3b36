// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/inflate_index.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/limits.h"

namespace ctxfs::zip {
namespace {

constexpr uint64_t kPiece = 256 * limits::kKiB;
constexpr uint64_t kPart = 8 * limits::kMiB;
constexpr uint64_t kMostPlaces = 64;
constexpr size_t kMostRecent = 4;
constexpr size_t kMostIndexes = 8;

}  // namespace

Result<Bytes> StoredPieces::Next() {
  const uint64_t size = std::min(kPiece, end_ - at_);
  if (size == 0) return Bytes();
  if (piece_.size() < size) piece_ = Buffer(static_cast<size_t>(size));
  const MutableBytes piece = piece_.span().first(static_cast<size_t>(size));
  if (Status read = source_.ReadAt(at_, piece); !read) {
    return std::move(read).error();
  }
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

InflateIndex::InflateIndex(DeflateData data,
                           std::shared_ptr<AtomicVerdict> verdict)
    : data_(std::move(data)),
      verdict_(std::move(verdict)),
      parts_((data_.size + kPart - 1) / kPart),
      spacing_((parts_ + kMostPlaces - 1) / kMostPlaces) {}

uint64_t InflateIndex::PartSize(uint64_t part) const {
  return std::min(kPart, data_.size - part * kPart);
}

Content InflateIndex::Open() const {
  Content content;
  for (uint64_t part = 0; part < parts_; ++part) {
    content.Append(
        Decoded{std::make_shared<const Part>(shared_from_this(), part), 0},
        PartSize(part));
  }
  return content;
}

Status InflateIndex::Prepare(const ReadContext& context) const {
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
  if (Status may = context.Spend(data_.size); !may) return may;
  std::vector<Place> places;
  if (Status decoded = Decode(places, context); !decoded) {
    Error error = std::move(decoded).error();
    if (error.Permanent()) {
      verdict_->store(Verdict::kFailed, std::memory_order_release);
      context.cache().CountVerdict(Verdict::kFailed);
      error.offset = data_.offset;
    }
    return error;
  }
  if (data_.checksum) {
    verdict_->store(Verdict::kPassed, std::memory_order_release);
  }
  places_ = std::move(places);
  ready_.store(true, std::memory_order_release);
  return {};
}

Status InflateIndex::Decode(std::vector<Place>& places,
                            const ReadContext& context) const {
  StoredPieces pieces(*data_.source, data_.offset, data_.stored_size);
  DeflateDecoder decoder;
  Checksummer sum(data_.checksum.kind);
  Buffer scratch(static_cast<size_t>(kPiece));
  Bytes in;
  uint64_t taken = 0;
  const uint64_t between = spacing_ * kPart;
  for (uint64_t made = 0;;) {
    if (Status wanted = context.Check(); !wanted) return wanted;
    const bool full = made == data_.size;
    if (!full && made % between == 0 && made / between == places.size()) {
      places.push_back({made / kPart, taken,
                        std::make_shared<const DeflateDecoder>(decoder)});
    }
    bool ended = false;
    if (in.empty()) {
      Result<Bytes> more = pieces.Next();
      if (!more) return std::move(more).error();
      in = *more;
      ended = in.empty();
    }
    // After the last part, room for one byte shows whether more follows.
    const uint64_t room =
        full ? 1
             : std::min({kPiece, data_.size - made, between - made % between});
    const MutableBytes out = scratch.span().first(static_cast<size_t>(room));
    const Result<DeflateDecoder::Step> step = decoder.Decode(in, out);
    if (!step) return step.error();
    in = in.subspan(step->taken);
    taken += step->taken;
    sum.Update(out.first(step->made));
    made += step->made;
    if (made > data_.size || (step->finished && made < data_.size) ||
        (ended && step->made == 0 && !step->finished)) {
      return Error{Code::kCorrupt, "deflate: does not decode to " +
                                       std::to_string(data_.size) + " bytes"};
    }
    if (step->finished) break;
  }
  if (sum.Matches(data_.checksum)) return {};
  return Error{
      Code::kChecksum,
      "checksum mismatch: the decoded bytes are not " + data_.checksum.Text()};
}

InflateIndex::Place InflateIndex::NearestPlace(uint64_t part) const {
  Place nearest = places_[static_cast<size_t>(part / spacing_)];
  const MutexLock lock(mutex_);
  for (const Place& place : recent_) {
    if (place.part <= part && place.part > nearest.part) nearest = place;
  }
  return nearest;
}

void InflateIndex::Remember(Place place) const {
  const MutexLock lock(mutex_);
  recent_.push_front(std::move(place));
  if (recent_.size() > kMostRecent) recent_.pop_back();
}

Result<Buffer> InflateIndex::DecodePart(uint64_t part,
                                        const ReadContext& context) const {
  if (Status prepared = Prepare(context); !prepared) {
    return std::move(prepared).error();
  }
  const Place place = NearestPlace(part);
  StoredPieces pieces(*data_.source, data_.offset + place.taken,
                      data_.stored_size - place.taken);
  DeflateDecoder decoder(*place.decoder);
  Buffer decoded(static_cast<size_t>(kPart));
  const MutableBytes out =
      decoded.span().first(static_cast<size_t>(PartSize(part)));
  Bytes in;
  uint64_t taken = place.taken;
  // Parts before the wanted one are decoded over one another.
  for (uint64_t at = place.part; at <= part; ++at) {
    if (at < part) {
      if (Status may = context.Spend(kPart); !may)
        return std::move(may).error();
    }
    const uint64_t size = PartSize(at);
    for (uint64_t made = 0; made < size;) {
      if (Status wanted = context.Check(); !wanted) {
        return std::move(wanted).error();
      }
      if (in.empty()) {
        Result<Bytes> more = pieces.Next();
        if (!more) return std::move(more).error();
        in = *more;
      }
      const MutableBytes to = decoded.span().subspan(
          static_cast<size_t>(made),
          static_cast<size_t>(std::min(limits::kMiB, size - made)));
      const bool ended = in.empty();
      const Result<DeflateDecoder::Step> step = decoder.Decode(in, to);
      if (!step) return step.error();
      // The stored bytes have changed since the index was made.
      if (ended && step->made == 0) {
        return Error{Code::kStale, "the member changed while it was read",
                     data_.offset};
      }
      in = in.subspan(step->taken);
      taken += step->taken;
      made += step->made;
    }
  }
  if (part + 1 < parts_) {
    Remember(
        {part + 1, taken, std::make_shared<const DeflateDecoder>(decoder)});
  }
  if (out.size() == decoded.size()) return decoded;
  Buffer exact(out.size());
  std::copy(out.begin(), out.end(), exact.data());
  return exact;
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
    if (kept_.size() > kMostIndexes) kept_.pop_back();
  }
  return kept_.front().index;
}

}  // namespace ctxfs::zip
