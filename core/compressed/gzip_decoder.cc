// SPDX-License-Identifier: Apache-2.0
//
// gzip: a sequence of members, each a header, raw deflate, a CRC-32 and a size
// (RFC 1952).
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/codec/deflate.h"
#include "core/compressed/block_inflater.h"
#include "core/compressed/decoder.h"
#include "core/compressed/gzip_header.h"
#include "core/compressed/stored_reader.h"

namespace ctxfs {
namespace {

constexpr size_t kTrailer = 8;

std::string Packed(Bytes bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(),
                                    bytes.size(), 1);
  packed.resize(ZSTD_isError(size) != 0 ? 0 : size);
  packed.shrink_to_fit();
  return packed;
}

/// Reverses Packed. Returns an empty buffer if `packed` is invalid or decodes
/// to more than `most` bytes.
Buffer Unpacked(const std::string& packed, size_t most) {
  Buffer bytes(most);
  const size_t size =
      ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  Buffer exact(ZSTD_isError(size) != 0 ? 0 : size);
  std::copy_n(bytes.data(), exact.size(), exact.data());
  return exact;
}

std::string CompressedState(const DeflateDecoder& decoder) {
  Buffer state(DeflateDecoder::StateBytes());
  decoder.SaveState(state.span());
  return Packed(state.span());
}

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder(SourcePtr source, const Place& place, Places* places,
              PlaceUse use)
      : reader_(std::move(source), place.stored_bits / CHAR_BIT),
        places_(places),
        decoded_(place.decoded),
        any_member_(place.stored_bits > 0) {
    if (!place.state.empty()) resumed_ = place;
    if (use == PlaceUse::kKept && places != nullptr) by_blocks_.emplace();
  }

  uint64_t memory() const override { return limits::kMiB / 2; }

  Result<size_t> Fill(MutableBytes out, const Request& request) override {
    if (resumed_) {
      CTXFS_TRY(Resume(*resumed_, request));
      resumed_.reset();
    }
    size_t made = 0;
    while (made < out.size() && !ended_) {
      CTXFS_TRY(request.Check());
      if (in_member_) {
        made += CTXFS_TRY(Inflate(out.subspan(made), request));
      } else {
        CTXFS_TRY(Begin(request));
      }
    }
    return made;
  }

 private:
  /// Restores the decoder at a place within a member.
  Status Resume(const Place& place, const Request& request);
  /// Reads the header of a member; sets ended_ at the end of the file.
  Status Begin(const Request& request);
  Result<size_t> Inflate(MutableBytes out, const Request& request);
  /// Adds the decoder's position as a place, if decoding can start there.
  Status AddPlace();
  /// Verifies the checksum and the size of a member.
  Status End(const Request& request);

  StoredReader reader_;
  Places* const places_;
  uint64_t decoded_;
  bool any_member_;               // a member has begun before
  std::optional<Place> resumed_;  // where the first Fill continues
  bool in_member_ = false;
  // Reused for all members. by_blocks_, if set, replaces decoder_.
  std::optional<DeflateDecoder> decoder_;
  std::optional<BlockInflater> by_blocks_;
  bool verifies_ = false;  // decoding began at the start of the member
  bool ended_ = false;
  uint32_t crc_ = 0;
  uint64_t size_ = 0;  // decoded bytes of the member
};

Status GzipDecoder::Resume(const Place& place, const Request& request) {
  const Error damaged{Code::kCorrupt, "gzip: a place cannot be continued at",
                      place.stored_bits / CHAR_BIT};
  in_member_ = true;
  if (!place.at_block) {
    const Buffer state = Unpacked(place.state, DeflateDecoder::StateBytes());
    if (state.size() != DeflateDecoder::StateBytes()) return damaged;
    decoder_.emplace(state.span());
    return {};
  }
  const Buffer window = Unpacked(place.state, DeflateDecoder::kWindow);
  const auto skip = static_cast<unsigned>(place.stored_bits % CHAR_BIT);
  std::byte byte{};
  if (skip > 0) {
    const Bytes in = CTXFS_TRY(reader_.Peek(request));
    if (in.empty()) return damaged;
    byte = in[0];
    reader_.Skip(1);
  }
  decoder_.emplace(window.span(), byte, skip);
  return {};
}

Status GzipDecoder::Begin(const Request& request) {
  const Bytes start = CTXFS_TRY(reader_.Peek(request, kMaxGzipHeader));
  if (any_member_ && !AsText(start).starts_with("\x1f\x8b")) {
    CTXFS_TRY(reader_.ExpectPadding("gzip", request));
    ended_ = true;
    return {};
  }
  if (places_ != nullptr && places_->Wants(decoded_)) {
    CTXFS_TRY(places_->Add({decoded_, reader_.at() * CHAR_BIT}));
  }
  Result<size_t> header = GzipHeaderBytes(start);
  if (!header) {
    Error error = std::move(header).error();
    error.offset += reader_.at();
    return error;
  }
  reader_.Skip(*header);
  // Creating a decoder takes 100 times as long as decoding an empty member.
  if (by_blocks_) {
    by_blocks_->Reset();
  } else if (decoder_) {
    decoder_->Reset();
  } else {
    decoder_.emplace();
  }
  in_member_ = any_member_ = true;
  verifies_ = true;
  crc_ = 0;
  size_ = 0;
  return {};
}

Result<size_t> GzipDecoder::Inflate(MutableBytes out, const Request& request) {
  const Bytes in = CTXFS_TRY(reader_.Peek(request));
  out = out.first(std::min(out.size(), kBytesPerCheck));
  Result<StreamStep> step =
      by_blocks_ ? by_blocks_->Decode(in, out) : decoder_->Decode(in, out);
  if (!step) {
    Error error = Within("gzip", std::move(step).error());
    error.offset = reader_.at();
    return error;
  }
  if (step->made == 0 && step->taken == 0 && !step->finished) {
    return Error{Code::kCorrupt,
                 in.empty() ? "gzip: the file ends within a member"
                            : "gzip: invalid data",
                 reader_.at()};
  }
  reader_.Skip(step->taken);
  if (verifies_) crc_ = Crc32(out.first(step->made), crc_);
  size_ += step->made;
  decoded_ += step->made;
  if (step->finished) {
    CTXFS_TRY(End(request));
  } else if (places_ != nullptr && places_->Wants(decoded_)) {
    CTXFS_TRY(AddPlace());
  }
  return step->made;
}

Status GzipDecoder::AddPlace() {
  const uint64_t bit = reader_.at() * CHAR_BIT;
  if (!by_blocks_) {
    return places_->Add({decoded_, bit, CompressedState(*decoder_)});
  }
  const std::optional<unsigned> rest = by_blocks_->BitsOfNextBlock();
  if (!rest) return {};
  std::string window = Packed(by_blocks_->Window().span());
  return places_->Add(
      {decoded_, bit - *rest, std::move(window), /*at_block=*/true});
}

Status GzipDecoder::End(const Request& request) {
  if (!by_blocks_) reader_.GoBack(decoder_->taken_too_many());
  in_member_ = false;
  const Bytes trailer = CTXFS_TRY(reader_.Peek(request, kTrailer));
  if (trailer.size() < kTrailer) {
    return Error{Code::kCorrupt,
                 "gzip: the file ends within the checksum of a member",
                 reader_.at()};
  }
  ByteReader in(trailer);
  const uint32_t crc = in.U32();
  const uint32_t size = in.U32();
  if (verifies_ && crc != crc_) {
    return Error{Code::kChecksum,
                 "gzip: checksum mismatch: the decoded bytes are not " +
                     Checksum{ChecksumKind::kCrc32, crc}.Text(),
                 reader_.at()};
  }
  if (verifies_ && size != static_cast<uint32_t>(size_)) {
    return Error{Code::kChecksum,
                 "gzip: the member decodes to " + std::to_string(size_) +
                     " bytes, and its end says " + std::to_string(size) +
                     " modulo 2^32",
                 reader_.at() + sizeof(crc)};
  }
  reader_.Skip(kTrailer);
  return {};
}

}  // namespace

std::unique_ptr<Decoder> MakeGzipDecoder(SourcePtr source, const Place& place,
                                         Places* places, PlaceUse use) {
  return std::make_unique<GzipDecoder>(std::move(source), place, places, use);
}

}  // namespace ctxfs
