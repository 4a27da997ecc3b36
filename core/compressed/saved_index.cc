// SPDX-License-Identifier: Apache-2.0
//
// A saved index: 6 numbers of 64 bits (compression, decoded size, memory,
// verified, number of hashes, number of places), then the hashes, then each
// place: its two offsets, the size of its state, and the state.
#include "core/compressed/saved_index.h"

#include <zstd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/crypto/keyed_digest.h"
#include "core/codec/deflate.h"
#include "core/compressed/xz_index.h"
#include "core/io/transfer.h"

namespace ctxfs {
namespace {

constexpr uint64_t kNumbers = 6 * sizeof(uint64_t);
constexpr uint64_t kPlaceNumbers = 3 * sizeof(uint64_t);

// Raise the number when the serialized form changes.
constexpr const char* kName = "packed-index-2";

// More than the hashes of 1 TiB (32 MiB) and the places of any file (32 MiB)
// take together. The rest is for the opening reads; if these do not fit, the
// index is not saved.
constexpr uint64_t kMaxSaved = 80 * limits::kMiB;

Error NoIndex(uint64_t at) {
  return {Code::kCorrupt, "not a saved index of this file", at};
}

uint64_t SavedSize(const DecodedIndex& index) {
  uint64_t size = kNumbers + index.hashes.size() * sizeof(uint64_t);
  for (const Place& place : index.places)
    size += kPlaceNumbers + place.state.size();
  return size;
}

Status LoadHashes(ByteReader& in, uint64_t count, DecodedIndex& index) {
  const uint64_t parts = index.size / DecodedIndex::kPart +
                         (index.size % DecodedIndex::kPart == 0 ? 0 : 1);
  if (count != parts || count > in.remaining() / sizeof(uint64_t)) {
    return NoIndex(in.offset());
  }
  CTXFS_TRY(HeapAllowance::Admit(count * sizeof(uint64_t)));
  index.hashes.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) index.hashes.push_back(in.U64());
  return {};
}

/// Whether `place` is plausible, judged without reading the stored bytes.
bool MayStartAt(const Place& place, const DecodedIndex& index) {
  if (index.compression == Compression::kGzip) {
    if (place.state.empty()) return place.stored_bits % CHAR_BIT == 0;
    return ZSTD_getFrameContentSize(place.state.data(), place.state.size()) <=
           std::min<uint64_t>(DeflateDecoder::kWindow, place.decoded);
  }
  if (!place.state.empty()) return false;
  if (index.compression == Compression::kBzip2) return true;
  if (place.stored_bits % CHAR_BIT != 0) return false;
  if (index.compression != Compression::kXz || index.size == 0) return true;
  bool found = false;
  const lzma_index_iter block = index.xz->From(place.decoded, found);
  return found && block.block.uncompressed_file_offset == place.decoded &&
         block.block.compressed_file_offset == place.stored_bits / CHAR_BIT;
}

/// Loads the places. Fails unless the first place is at decoded byte 0, and all
/// are in order, within both files, and plausible (MayStartAt).
Status LoadPlaces(ByteReader& in, uint64_t count, uint64_t stored,
                  DecodedIndex& index) {
  if (count == 0 || count > in.remaining() / kPlaceNumbers) {
    return NoIndex(in.offset());
  }
  CTXFS_TRY(HeapAllowance::Admit(count * sizeof(Place) + in.remaining()));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = in.offset();
    Place place{in.U64(), in.U64()};
    place.state = AsText(in.Take(in.U64()));
    place.at_block = !place.state.empty();
    const bool follows =
        i == 0 ? place.decoded == 0
               : place.decoded > index.places.back().decoded &&
                     place.stored_bits > index.places.back().stored_bits &&
                     place.decoded <= index.size;
    if (!in.ok() || !follows || place.stored_bits / CHAR_BIT > stored ||
        !MayStartAt(place, index)) {
      return NoIndex(at);
    }
    index.places.push_back(std::move(place));
  }
  return {};
}

/// Returns the keyed digest of an index saved as `name`; empty if `files` has
/// no key.
std::string DigestOf(Bytes saved, const PersistentCache& files,
                     const KeptName& name) {
  KeyedDigest digest(files.KeyFor(name));
  digest.Update(saved);
  return digest.Hex();
}

}  // namespace

Result<std::string> SaveIndex(const DecodedIndex& index) {
  if (std::any_of(index.places.begin(), index.places.end(),
                  [](const Place& place) {
                    return !place.state.empty() && !place.at_block;
                  })) {
    return Error{Code::kUnsupported, "an index of this process alone"};
  }
  const uint64_t size = SavedSize(index);
  CTXFS_TRY(HeapAllowance::Admit(size));
  std::string saved;
  saved.reserve(static_cast<size_t>(size));
  for (const uint64_t number :
       {static_cast<uint64_t>(index.compression), index.size, index.memory,
        uint64_t{index.verified}, uint64_t{index.hashes.size()},
        uint64_t{index.places.size()}}) {
    AppendLe(number, saved);
  }
  for (const uint64_t hash : index.hashes) AppendLe(hash, saved);
  for (const Place& place : index.places) {
    AppendLe(place.decoded, saved);
    AppendLe(place.stored_bits, saved);
    AppendLe(uint64_t{place.state.size()}, saved);
    saved += place.state;
  }
  return saved;
}

Result<std::shared_ptr<const DecodedIndex>> LoadIndex(ByteReader& in,
                                                      const Source& source,
                                                      Compression compression,
                                                      const Request& request) {
  auto index = std::make_shared<DecodedIndex>();
  index->compression = compression;
  const bool same = in.U64() == static_cast<uint64_t>(compression);
  index->size = in.U64();
  index->memory = in.U64();
  index->verified = in.U64() != 0;
  const uint64_t hashes = in.U64();
  const uint64_t places = in.U64();
  if (!in.ok() || !same || index->size > limits::kStreamedBytes ||
      index->memory > kMaxDecoderMemory) {
    return NoIndex(0);
  }
  CTXFS_TRY(LoadHashes(in, hashes, *index));
  if (compression == Compression::kXz) {
    index->xz = CTXFS_TRY(ReadXzIndex(source, request));
  }
  CTXFS_TRY(LoadPlaces(in, places, source.size(), *index));
  return std::shared_ptr<const DecodedIndex>(std::move(index));
}

void KeepIndex(PersistentCache& files, const SourcePtr& source,
               const DecodedIndex& index, OpeningReads& reads) {
  std::string read;
  if (!reads.SaveAndClear(read) || source->descriptor() < 0) return;
  Result<std::string> saved = SaveIndex(index);
  if (!saved || !AppendAdmitted(*saved, read) || saved->size() > kMaxSaved) {
    return;
  }
  Result<Fd> made = files.Make(saved->size());
  if (!made || WriteSome(made->get(), AsBytes(*saved)).bytes != saved->size())
    return;
  const auto file = std::make_shared<const Fd>(std::move(*made));
  const KeptName name{source, kName};
  const std::string digest = DigestOf(AsBytes(*saved), files, name);
  if (!digest.empty()) files.Keep(name, file->get(), digest, file);
}

std::shared_ptr<const DecodedIndex> TakeIndex(PersistentCache& files,
                                              const SourcePtr& source,
                                              Compression compression,
                                              OpeningReads& reads,
                                              const Request& request) {
  const KeptName name{source, kName};
  if (source->descriptor() < 0) return nullptr;
  const auto kept = files.Take(name);
  if (!kept || kept->size > kMaxSaved || !HeapAllowance::Admit(kept->size)) {
    return nullptr;
  }
  Buffer saved(static_cast<size_t>(kept->size));
  if (!PreadAll(kept->file.get(), 0, saved.span())) return nullptr;
  const std::string digest = DigestOf(saved.span(), files, name);
  if (!digest.empty() && digest == kept->digest) {
    ByteReader in(saved.span());
    auto index = LoadIndex(in, *source, compression, request);
    const Status read = index ? reads.Load(in, (*index)->size) : Status();
    if (index && read) return std::move(*index);
    if (index || index.error().code != Code::kCorrupt) return nullptr;
  }
  files.Drop(name, kept->digest);
  return nullptr;
}

}  // namespace ctxfs
