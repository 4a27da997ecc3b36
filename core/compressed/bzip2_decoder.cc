// SPDX-License-Identifier: Apache-2.0
//
// Decodes bzip2 block by block. A block starts at any bit, with a 48-bit magic
// number. Each block is passed to libbz2 as a separate stream.
#include <bzlib.h>

#include <algorithm>
#include <climits>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/compressed/bits.h"
#include "core/compressed/decoder.h"
#include "core/compressed/stored_reader.h"

namespace ctxfs {
namespace {

constexpr uint64_t kBlock = 0x314159265359;  // at the start of a block
constexpr uint64_t kEnd = 0x177245385090;    // after the last block
constexpr unsigned kMagicBits = 48;
constexpr unsigned kCrcBits = 32;
constexpr size_t kHeader = 4;
// After the run-length coding of its data, a block has at most 900,000 bytes.
// The further steps expand them only slightly at worst.
constexpr size_t kMaxBlock = size_t{2} << 20;

/// Returns the first bit at or after `from` where a magic number starts.
std::optional<uint64_t> FindMagic(Bytes bytes, uint64_t from) {
  constexpr uint64_t kMask = (uint64_t{1} << kMagicBits) - 1;
  uint64_t window = 0;
  const uint64_t first = from / CHAR_BIT;
  for (uint64_t i = first; i < bytes.size(); ++i) {
    window = window << CHAR_BIT |
             std::to_integer<uint64_t>(bytes[static_cast<size_t>(i)]);
    const uint64_t end = (i + 1) * CHAR_BIT;
    if (end < first * CHAR_BIT + kMagicBits) continue;
    for (unsigned shift = CHAR_BIT; shift-- > 0;) {
      const uint64_t value = window >> shift & kMask;
      if (value != kBlock && value != kEnd) continue;
      if (end - shift < from + kMagicBits) continue;
      return end - shift - kMagicBits;
    }
  }
  return std::nullopt;
}

/// A libbz2 decoder for a stream with a single block.
class OneBlock {
 public:
  explicit OneBlock(std::vector<std::byte> stream)
      : stream_(std::move(stream)) {
    if (BZ2_bzDecompressInit(&state_, /*verbosity=*/0, /*small=*/0) != BZ_OK) {
      throw std::bad_alloc();
    }
    state_.next_in = reinterpret_cast<char*>(stream_.data());
    state_.avail_in = static_cast<unsigned>(stream_.size());
  }
  ~OneBlock() { BZ2_bzDecompressEnd(&state_); }
  OneBlock(const OneBlock&) = delete;
  OneBlock& operator=(const OneBlock&) = delete;

  struct Step {
    size_t made;
    bool finished;
    bool failed;
  };
  Step Decode(MutableBytes out) {
    state_.next_out = reinterpret_cast<char*>(out.data());
    state_.avail_out = static_cast<unsigned>(out.size());
    const int done = BZ2_bzDecompress(&state_);
    if (done == BZ_MEM_ERROR) throw std::bad_alloc();
    const size_t made = out.size() - state_.avail_out;
    const bool finished = done == BZ_STREAM_END;
    const bool stuck = done == BZ_OK && made == 0;
    return {made, finished, stuck || (done != BZ_OK && !finished)};
  }

 private:
  std::vector<std::byte> stream_;
  bz_stream state_{};
};

class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder(SourcePtr source, const Place& place, Places* places)
      : reader_(std::move(source), place.stored_bits / CHAR_BIT),
        places_(places),
        decoded_(place.decoded),
        bit_(place.stored_bits % CHAR_BIT),
        in_stream_(place.stored_bits > 0) {}

  uint64_t memory() const override { return 8 * limits::kMiB; }

  Result<size_t> Fill(MutableBytes out, const Request& request) override {
    size_t made = 0;
    while (made < out.size() && !ended_) {
      CTXFS_TRY(request.Check());
      if (!in_stream_) {
        CTXFS_TRY(BeginStream(request));
      } else if (!block_) {
        CTXFS_TRY(BeginBlock(request));
      } else {
        made += CTXFS_TRY(Decode(out.subspan(made), request));
      }
    }
    return made;
  }

 private:
  uint64_t stored_bit() const { return reader_.at() * CHAR_BIT + bit_; }
  Error Bad(Code code, const char* what) const {
    return {code, std::string("bzip2: ") + what, reader_.at()};
  }
  void Advance(uint64_t bits) {
    const uint64_t to = bit_ + bits;
    reader_.Skip(static_cast<size_t>(to / CHAR_BIT));
    bit_ = to % CHAR_BIT;
  }

  /// Reads the header of a stream; sets ended_ at the end of the file.
  Status BeginStream(const Request& request);
  /// Reads the magic number of a block, or the end of the stream.
  Status BeginBlock(const Request& request);
  Status EndStream(uint32_t crc);
  /// Passes the bits before the next magic number to libbz2. Searches for the
  /// magic number from bit `from` on.
  Status TakeBlock(uint64_t from, const Request& request);
  Result<size_t> Decode(MutableBytes out, const Request& request);

  StoredReader reader_;
  Places* const places_;
  uint64_t decoded_;
  uint64_t bit_;           // bit offset in the next byte
  std::byte level_{'9'};   // of the stream
  bool in_stream_;         // next is a block or the end of the stream
  bool verifies_ = false;  // decoding began at the start of the stream
  bool ended_ = false;
  bool any_stream_ = false;
  uint32_t combined_ = 0;  // CRC of all blocks of the stream
  std::optional<OneBlock> block_;
  uint64_t block_bits_ = 0;
  unsigned false_ends_ = 0;  // magic numbers found in the data of the block
  uint32_t block_crc_ = 0;
  bool block_made_ = false;  // bytes of the block have been decoded
};

Status Bzip2Decoder::BeginStream(const Request& request) {
  const Bytes start = CTXFS_TRY(reader_.Peek(request, kHeader));
  const bool header = start.size() >= kHeader &&
                      AsText(start).starts_with("BZh") &&
                      start[3] >= std::byte{'1'} && start[3] <= std::byte{'9'};
  if (!header && any_stream_) {
    CTXFS_TRY(reader_.ExpectPadding("bzip2", request));
    ended_ = true;
    return {};
  }
  if (!header) return Bad(Code::kCorrupt, "no header of a stream");
  level_ = start[3];
  reader_.Skip(kHeader);
  in_stream_ = any_stream_ = verifies_ = true;
  combined_ = 0;
  return {};
}

Status Bzip2Decoder::BeginBlock(const Request& request) {
  constexpr size_t kStart = (kMagicBits + kCrcBits) / CHAR_BIT + 1;
  const Bytes start = CTXFS_TRY(reader_.Peek(request, kStart));
  Bits bits(start, bit_);
  if (start.empty() || bits.left() < kMagicBits + kCrcBits) {
    return Bad(Code::kCorrupt, "the file ends within a stream");
  }
  const uint64_t magic = bits.Take(kMagicBits);
  const auto crc = static_cast<uint32_t>(bits.Take(kCrcBits));
  if (magic == kEnd) return EndStream(crc);
  if (magic != kBlock) {
    return Bad(Code::kCorrupt, "neither a block nor the end of the stream");
  }
  if (places_ != nullptr && places_->Wants(decoded_)) {
    CTXFS_TRY(places_->Add({decoded_, stored_bit()}));
  }
  block_crc_ = crc;
  block_made_ = false;
  false_ends_ = 0;
  return TakeBlock(bit_ + kMagicBits + kCrcBits, request);
}

Status Bzip2Decoder::EndStream(uint32_t crc) {
  if (verifies_ && crc != combined_) {
    return Bad(Code::kChecksum, "checksum mismatch of a stream");
  }
  Advance(kMagicBits + kCrcBits);
  if (bit_ > 0) Advance(CHAR_BIT - bit_);
  in_stream_ = false;
  any_stream_ = true;
  return {};
}

Status Bzip2Decoder::TakeBlock(uint64_t from, const Request& request) {
  std::optional<uint64_t> end;
  Bytes bytes;
  for (size_t some = kMaxBlock / 32; !end; some *= 2) {
    bytes = CTXFS_TRY(reader_.Peek(request, some));
    end = FindMagic(bytes, from);
    if (end) break;
    if (bytes.size() < some) {
      return Bad(Code::kCorrupt, "a block has no end, or its data is damaged");
    }
    if (some >= kMaxBlock) return Bad(Code::kCorrupt, "a block is too long");
    // Resumes the search 48 bits before the end, because a magic number may
    // begin there.
    from = std::max(from, bytes.size() * CHAR_BIT - kMagicBits);
  }
  BitWriter stream;
  for (const char c : {'B', 'Z', 'h'}) {
    stream.Put(static_cast<unsigned char>(c), CHAR_BIT);
  }
  stream.Put(std::to_integer<unsigned>(level_), CHAR_BIT);
  stream.Copy(bytes, bit_, *end);
  stream.Put(kEnd, kMagicBits);
  stream.Put(block_crc_, kCrcBits);
  block_bits_ = *end - bit_;
  block_.emplace(stream.Finish());
  return {};
}

Result<size_t> Bzip2Decoder::Decode(MutableBytes out, const Request& request) {
  const OneBlock::Step step =
      block_->Decode(out.first(std::min(out.size(), kBytesPerCheck)));
  if (step.failed && !block_made_ && step.made == 0) {
    // The magic number that seemed to end the block is part of its data: libbz2
    // decodes no byte until it has the whole block. The chance is 2^-48 per
    // bit, and each false end costs a copy of the block.
    constexpr unsigned kMaxFalseEnds = 16;
    if (++false_ends_ > kMaxFalseEnds) {
      return Bad(Code::kCorrupt, "the data of a block is damaged");
    }
    block_.reset();
    CTXFS_TRY(TakeBlock(bit_ + block_bits_ + 1, request));
    return size_t{0};
  }
  if (step.failed) {
    return Bad(Code::kChecksum, "checksum mismatch of a block");
  }
  block_made_ |= step.made > 0;
  decoded_ += step.made;
  if (step.finished) {
    block_.reset();
    Advance(block_bits_);
    combined_ = (combined_ << 1 | combined_ >> 31) ^ block_crc_;
  }
  return step.made;
}

}  // namespace

std::unique_ptr<Decoder> MakeBzip2Decoder(SourcePtr source, const Place& place,
                                          Places* places) {
  return std::make_unique<Bzip2Decoder>(std::move(source), place, places);
}

}  // namespace ctxfs
