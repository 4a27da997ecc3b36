// SPDX-License-Identifier: Apache-2.0
//
// gzip: members of a header, raw deflate, and a CRC-32 and size (RFC 1952).
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
#include "core/compressed/decoder.h"
#include "core/compressed/gzip_header.h"
#include "core/compressed/stored_reader.h"

namespace ctxfs {
namespace {

constexpr size_t kTrailer = 8;

std::string CompressedState(const DeflateDecoder& decoder) {
  Buffer state(DeflateDecoder::StateBytes());
  decoder.SaveState(state.span());
  std::string packed(ZSTD_compressBound(state.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), state.data(),
                                    state.size(), 1);
  packed.resize(ZSTD_isError(size) != 0 ? 0 : size);
  packed.shrink_to_fit();
  return packed;
}

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder(SourcePtr source, const Place& place, Places* places)
      : reader_(std::move(source), place.stored_bits / CHAR_BIT),
        places_(places),
        decoded_(place.decoded),
        any_member_(place.stored_bits > 0) {
    if (!place.state.empty()) Resume(place.state);
  }

  uint64_t memory() const override { return limits::kMiB / 2; }

  Result<size_t> Fill(MutableBytes out, const Interrupt& interrupt) override {
    size_t made = 0;
    while (made < out.size() && !ended_) {
      CTXFS_TRY(interrupt.Check());
      if (member_) {
        made += CTXFS_TRY(Inflate(out.subspan(made)));
      } else {
        CTXFS_TRY(Begin(interrupt));
      }
    }
    return made;
  }

 private:
  /// Continues within a member.
  void Resume(const std::string& packed);
  /// Reads the header of a member; at the end of the file sets ended_.
  Status Begin(const Interrupt& interrupt);
  Result<size_t> Inflate(MutableBytes out);
  /// Compares the checksum of a member, and its size.
  Status End();

  StoredReader reader_;
  Places* const places_;
  uint64_t decoded_;
  bool any_member_;  // before this place
  std::optional<DeflateDecoder> member_;
  bool verifies_ = false;  // decodes the member from its start on
  bool ended_ = false;
  uint32_t crc_ = 0;
  uint64_t size_ = 0;  // decoded bytes of the member
};

void GzipDecoder::Resume(const std::string& packed) {
  Buffer state(DeflateDecoder::StateBytes());
  const size_t size =
      ZSTD_decompress(state.data(), state.size(), packed.data(), packed.size());
  if (size == state.size()) {
    member_.emplace(state.span());
  } else {
    member_.emplace();  // what it decodes has not the right hash
  }
}

Status GzipDecoder::Begin(const Interrupt& interrupt) {
  const Bytes start = CTXFS_TRY(reader_.Peek(kMostGzipHeader));
  if (any_member_ && !AsText(start).starts_with("\x1f\x8b")) {
    CTXFS_TRY(reader_.ExpectPadding("gzip", interrupt));
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
  member_.emplace();
  any_member_ = true;
  verifies_ = true;
  crc_ = 0;
  size_ = 0;
  return {};
}

Result<size_t> GzipDecoder::Inflate(MutableBytes out) {
  const Bytes in = CTXFS_TRY(reader_.Peek());
  Result<StreamStep> step =
      member_->Decode(in, out.first(std::min(out.size(), kBytesPerCheck)));
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
    CTXFS_TRY(End());
  } else if (places_ != nullptr && places_->Wants(decoded_)) {
    CTXFS_TRY(places_->Add(
        {decoded_, reader_.at() * CHAR_BIT, CompressedState(*member_)}));
  }
  return step->made;
}

Status GzipDecoder::End() {
  reader_.GoBack(member_->taken_too_many());
  member_.reset();
  const Bytes trailer = CTXFS_TRY(reader_.Peek(kTrailer));
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
                                         Places* places) {
  return std::make_unique<GzipDecoder>(std::move(source), place, places);
}

}  // namespace ctxfs
