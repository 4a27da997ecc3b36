// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/decoded_index.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/compressed/xz_index.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxPlaceBytes = 32 * limits::kMiB;

uint64_t BytesOf(const Place& place) {
  return sizeof(Place) + place.state.size();
}

std::unique_ptr<Decoder> MakeDecoder(const DecodedIndex& index,
                                     SourcePtr source, const Place& place,
                                     Places* places, PlaceUse use) {
  switch (index.compression) {
    case Compression::kGzip:
      return MakeGzipDecoder(std::move(source), place, places, use);
    case Compression::kZstd:
      return MakeZstdDecoder(std::move(source), place, places, index.memory);
    case Compression::kXz:
      return MakeXzDecoder(std::move(source), index.xz, place, places,
                           index.memory);
    default:
      return MakeBzip2Decoder(std::move(source), place, places);
  }
}

uint64_t SpacingOf(Compression compression) {
  switch (compression) {
    case Compression::kGzip:  // a saved state takes about 50 KiB
      return 4 * limits::kMiB;
    case Compression::kBzip2:  // a place at each block of 900 kB
      return limits::kMiB / 2;
    default:
      return limits::kMiB;
  }
}

Error TooLarge(Compression compression, uint64_t most, uint64_t stored) {
  const std::string_view name = CompressionName(compression);
  const std::string why =
      most == limits::kStreamedBytes
          ? std::string()
          : fmt::format(", {} times its {}", limits::kWorkFactor, stored);
  return {Code::kLimit,
          fmt::format("{}: decodes to more than the limit of {} bytes{}; '{} "
                      "-d' unpacks the file",
                      name, most, why, name)};
}

uint64_t MostDecoded(uint64_t stored) {
  if (stored > limits::kStreamedBytes / limits::kWorkFactor) {
    return limits::kStreamedBytes;
  }
  return limits::kWorkBytes + stored * limits::kWorkFactor;
}

}  // namespace

Status Places::Add(Place place) {
  CTXFS_TRY(AdmitGrowth(places_));
  bytes_ += BytesOf(place);
  places_.push_back(std::move(place));
  if (bytes_ > kMaxPlaceBytes) ThinOut();
  return {};
}

void Places::ThinOut() {
  spacing_ *= 2;
  std::vector<Place> kept;
  bytes_ = 0;
  for (Place& place : places_) {
    if (!kept.empty() && place.decoded - kept.back().decoded < spacing_) {
      continue;
    }
    bytes_ += BytesOf(place);
    kept.push_back(std::move(place));
  }
  places_ = std::move(kept);
}

uint64_t UsualMemory(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return limits::kMiB;
    case Compression::kBzip2:
      return 8 * limits::kMiB;
    default:
      return kUsualDecoderMemory;
  }
}

uint64_t PartHash(Bytes part) { return XXH3_64bits(part.data(), part.size()); }

const Place& DecodedIndex::PlaceBefore(uint64_t decoded) const {
  const auto after = std::upper_bound(
      places.begin(), places.end(), decoded,
      [](uint64_t at, const Place& place) { return at < place.decoded; });
  return *std::prev(after);
}

std::unique_ptr<Decoder> DecodedIndex::DecoderAt(SourcePtr source,
                                                 const Place& place) const {
  return MakeDecoder(*this, std::move(source), place, nullptr,
                     PlaceUse::kThisProcess);
}

Result<std::shared_ptr<const DecodedIndex>> IndexCompressed(
    SourcePtr source, Compression compression, uint64_t memory,
    const Request& request, const KeepPart& keep, PlaceUse use) {
  auto index = std::make_shared<DecodedIndex>();
  index->compression = compression;
  index->memory = memory;
  if (compression == Compression::kXz) {
    index->xz = CTXFS_TRY(ReadXzIndex(*source, request));
  }
  const uint64_t stored = source->size();
  const uint64_t most = MostDecoded(stored);
  Places places(SpacingOf(compression));
  const std::unique_ptr<Decoder> decoder =
      MakeDecoder(*index, source, Place{}, &places, use);
  Buffer part(DecodedIndex::kPart);
  for (size_t made = part.size(); made == part.size();) {
    CTXFS_TRY(request.Check());
    made = CTXFS_TRY(decoder->Fill(part.span(), request));
    index->size += made;
    if (index->size > most) return TooLarge(compression, most, stored);
    if (made == 0) break;
    CTXFS_TRY(AdmitGrowth(index->hashes));
    const Bytes bytes = part.span().first(made);
    if (keep != nullptr) keep(index->hashes.size(), bytes);
    index->hashes.push_back(PartHash(bytes));
  }
  index->verified = decoder->has_checksums();
  index->places = places.Take();
  if (index->places.empty()) index->places.emplace_back();
  return std::shared_ptr<const DecodedIndex>(std::move(index));
}

}  // namespace ctxfs
