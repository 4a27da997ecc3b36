// SPDX-License-Identifier: Apache-2.0
//
// Decodes buffers of c-blosc, format version 1 (docs/formats/zarr.md, section
// 5):
//
//   0   u8 version (2), u8 version of the compressor, u8 flags, u8 size of an
//       element, u32 decoded bytes, u32 bytes of a block, u32 stored bytes
//   16  u32 start of each block, then blocks in any order
//
// A block is one stream, or a stream for each byte of an element. A stream is
// an i32 length and its bytes.
#include "core/codec/blosc.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/codec/codec.h"
#include "core/codec/copy_match.h"

namespace ctxfs {
namespace {

constexpr uint64_t kBloscHeaderBytes = 16;
constexpr unsigned kByteShuffle = 1;
constexpr unsigned kStoredFlag = 2;
constexpr unsigned kBitShuffle = 4;
constexpr unsigned kNotSplit = 16;

enum class BloscCompressor : uint8_t { kBloscLz, kLz4, kSnappy, kZlib, kZstd };

struct BloscHeader {
  unsigned flags = 0;
  size_t element = 0;  // bytes
  uint64_t decoded = 0;
  uint64_t block = 0;
  uint64_t stored = 0;

  unsigned compressor() const { return flags >> 5; }
};

Error Damaged(std::string what, uint64_t at) {
  return {Code::kCorrupt, "blosc: " + std::move(what), at};
}

Result<BloscHeader> ReadBloscHeader(Bytes stored) {
  ByteReader in(stored);
  const unsigned version = in.U8();
  in.Skip(1);
  BloscHeader header;
  header.flags = in.U8();
  header.element = in.U8();
  header.decoded = in.U32();
  header.block = in.U32();
  header.stored = in.U32();
  if (!in.ok()) return Damaged("the header is cut off", 0);
  if (version != 2) {
    return Error{Code::kUnsupported,
                 fmt::format("blosc: version {} is unknown", version), 0};
  }
  return header;
}

/// Decodes a stream of blosclz.
class BloscLz {
 public:
  BloscLz(Bytes stored, MutableBytes out) : in_(stored), out_(out) {}

  Status Decode() {
    unsigned control = in_.U8() & 31U;
    while (in_.ok()) {
      CTXFS_TRY(control < 32 ? Literals(control + 1) : Match(control));
      if (in_.remaining() == 0) break;
      control = in_.U8();
    }
    if (!in_.ok()) return Damaged("a stream of blosclz is cut off", kNoOffset);
    if (done_ != out_.size()) return WrongSize();
    return {};
  }

 private:
  static Error WrongSize() {
    return Damaged("a stream of blosclz has another size", kNoOffset);
  }

  Status Literals(size_t count) {
    const Bytes literals = in_.Take(count);
    if (literals.size() > out_.size() - done_) return WrongSize();
    std::ranges::copy(literals, out_.begin() + static_cast<ptrdiff_t>(done_));
    done_ += literals.size();
    return {};
  }

  Status Match(unsigned control) {
    constexpr size_t kLongest = 6;  // more length bytes follow
    constexpr size_t kFar = 8191;
    size_t length = (control >> 5) - 1;
    size_t distance = size_t{control & 31U} << 8;
    for (unsigned more = 255; length >= kLongest && more == 255 && in_.ok();) {
      more = in_.U8();
      length += more;
    }
    const unsigned low = in_.U8();
    length += 3;
    if (low == 255 && (control & 31U) == 31) {
      distance = size_t{in_.U8()} << 8;
      distance += in_.U8() + kFar;
    } else {
      distance += low;
    }
    ++distance;
    if (!in_.ok()) return {};  // Decode reports it
    if (distance > done_) {
      return Damaged("a match starts before its stream", kNoOffset);
    }
    if (length > out_.size() - done_) return WrongSize();
    CopyMatch(out_.data() + done_, distance, length);
    done_ += length;
    return {};
  }

  ByteReader in_;
  const MutableBytes out_;
  size_t done_ = 0;
};

/// Byte `j` of element i is at j * count + i in `from`. Bytes after the last
/// whole element are not moved.
template <size_t kSize>
void UnshuffleElements(const std::byte* from, size_t count, std::byte* to) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < kSize; ++j) to[i * kSize + j] = from[j * count + i];
  }
}

void Unshuffle(Bytes from, size_t element, MutableBytes to) {
  const size_t count = from.size() / element;
  switch (element) {
    case 2:
      UnshuffleElements<2>(from.data(), count, to.data());
      break;
    case 4:
      UnshuffleElements<4>(from.data(), count, to.data());
      break;
    case 8:
      UnshuffleElements<8>(from.data(), count, to.data());
      break;
    default:
      for (size_t j = 0; j < element; ++j) {
        for (size_t i = 0; i < count; ++i) {
          to[i * element + j] = from[j * count + i];
        }
      }
  }
  const size_t whole = count * element;
  std::ranges::copy(from.subspan(whole), to.subspan(whole).begin());
}

/// Exchanges bit c of byte r and bit r of byte c.
uint64_t TransposeBits(uint64_t x) {
  uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAU;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCU;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0U;
  return x ^ t ^ (t << 28);
}

/// Bit k of byte j of element i is bit i % 8 of byte (8 j + k) n / 8 + i / 8. n
/// is the number of elements; if it is no multiple of 8, nothing was moved.
void UnshuffleBits(Bytes from, size_t element, MutableBytes to) {
  const size_t count = from.size() / element;
  if (count % 8 != 0) {
    std::ranges::copy(from, to.begin());
    return;
  }
  const size_t plane = count / 8;
  for (size_t j = 0; j < element; ++j) {
    for (size_t i = 0; i < plane; ++i) {
      uint64_t bits = 0;
      for (size_t k = 0; k < 8; ++k) {
        bits |= std::to_integer<uint64_t>(from[(8 * j + k) * plane + i])
                << 8 * k;
      }
      bits = TransposeBits(bits);
      for (size_t k = 0; k < 8; ++k) {
        to[(8 * i + k) * element + j] = static_cast<std::byte>(bits >> 8 * k);
      }
    }
  }
  const size_t whole = count * element;
  std::ranges::copy(from.subspan(whole), to.subspan(whole).begin());
}

class BlockDecoder {
 public:
  BlockDecoder(const BloscHeader& header, Bytes stored,
               const Interrupt& interrupt)
      : header_(header), stored_(stored), interrupt_(interrupt) {}

  Status DecodeAll(MutableBytes out) {
    const uint64_t blocks = (out.size() + header_.block - 1) / header_.block;
    if (blocks > (stored_.size() - kBloscHeaderBytes) / sizeof(uint32_t)) {
      return Damaged(fmt::format("{} blocks do not fit into {} bytes", blocks,
                                 stored_.size()),
                     kBloscHeaderBytes);
    }
    if (shuffles()) moved_ = Buffer(std::min(header_.block, out.size()));
    for (uint64_t i = 0; i < blocks; ++i) {
      CTXFS_TRY(interrupt_.Check());
      const uint64_t at = kBloscHeaderBytes + i * sizeof(uint32_t);
      const uint64_t start = LoadLe<uint32_t>(stored_.data() + at);
      const uint64_t size = std::min(header_.block, out.size());
      CTXFS_TRY(DecodeBlock(start, at, out.first(size)));
      out = out.subspan(size);
    }
    return {};
  }

 private:
  bool shuffles() const {
    return ((header_.flags & kByteShuffle) != 0 && header_.element > 1) ||
           ((header_.flags & kBitShuffle) != 0 && header_.element > 0);
  }

  size_t StreamsOf(size_t size) const {
    constexpr size_t kMaxStreams = 16;
    constexpr size_t kLeastElements = 128;
    const bool split = (header_.flags & kNotSplit) == 0 &&
                       header_.element > 1 && header_.element <= kMaxStreams &&
                       header_.block / header_.element >= kLeastElements &&
                       size == header_.block;
    return split ? header_.element : 1;
  }

  Status DecodeBlock(uint64_t start, uint64_t told_at, MutableBytes out) {
    if (start < kBloscHeaderBytes || start > stored_.size()) {
      return Damaged("a block starts outside of the buffer", told_at);
    }
    const MutableBytes to = shuffles() ? moved_.span().first(out.size()) : out;
    const size_t streams = StreamsOf(out.size());
    if (out.size() % streams != 0) {
      return Damaged("the streams of a block have no equal sizes", told_at);
    }
    const size_t size = out.size() / streams;
    ByteReader in(stored_.subspan(static_cast<size_t>(start)), start);
    for (size_t i = 0; i < streams; ++i) {
      CTXFS_TRY(DecodeStream(in, to.subspan(i * size, size)));
    }
    if (!shuffles()) return {};
    if ((header_.flags & kByteShuffle) != 0) {
      Unshuffle(to, header_.element, out);
    } else {
      UnshuffleBits(to, header_.element, out);
    }
    return {};
  }

  Status DecodeStream(ByteReader& in, MutableBytes out) const {
    const uint64_t at = in.offset();
    const Bytes bytes = in.Take(in.U32());
    if (!in.ok()) return Damaged("a stream runs past the buffer", at);
    if (bytes.size() == out.size()) {
      std::ranges::copy(bytes, out.begin());
      return {};
    }
    Status decoded = Decompress(bytes, out);
    if (decoded || !decoded.error().Permanent()) return decoded;
    Error error = std::move(decoded).error();
    error.offset = at;
    return error;
  }

  Status Decompress(Bytes bytes, MutableBytes out) const {
    switch (static_cast<BloscCompressor>(header_.compressor())) {
      case BloscCompressor::kBloscLz:
        return BloscLz(bytes, out).Decode();
      case BloscCompressor::kLz4:
        return DecodeLz4(bytes, out, interrupt_);
      case BloscCompressor::kZlib:
        return DecodeZlib(bytes, out, interrupt_);
      case BloscCompressor::kZstd:
        return DecodeZstd(bytes, out, interrupt_);
      case BloscCompressor::kSnappy:
        return DecodeSnappy(bytes, out, interrupt_);
    }
    return Error{
        Code::kUnsupported,
        fmt::format("blosc: compressor {} is unknown", header_.compressor())};
  }

  const BloscHeader& header_;
  const Bytes stored_;
  const Interrupt& interrupt_;
  Buffer moved_;  // a block before it is unshuffled
};

}  // namespace

Result<uint64_t> BloscSize(Bytes stored) {
  const BloscHeader header = CTXFS_TRY(ReadBloscHeader(stored));
  return header.decoded;
}

Status DecodeBlosc(Bytes stored, MutableBytes out, const Interrupt& interrupt) {
  const BloscHeader header = CTXFS_TRY(ReadBloscHeader(stored));
  if (header.decoded != out.size()) {
    return Damaged(
        fmt::format("decodes to {} bytes, not {}", header.decoded, out.size()),
        4);
  }
  if (header.stored != stored.size()) {
    return Damaged(fmt::format("{} bytes are there, and the header says {}",
                               stored.size(), header.stored),
                   12);
  }
  if (out.empty()) return {};
  if ((header.flags & kStoredFlag) != 0) {
    const Bytes bytes = stored.subspan(kBloscHeaderBytes);
    if (bytes.size() != out.size()) {
      return Damaged("the stored bytes have another size", kBloscHeaderBytes);
    }
    std::ranges::copy(bytes, out.begin());
    return {};
  }
  if (header.block == 0) return Damaged("blocks have no bytes", 8);
  return BlockDecoder(header, stored, interrupt).DecodeAll(out);
}

}  // namespace ctxfs
