// SPDX-License-Identifier: Apache-2.0
//
// PNG (ISO/IEC 15948) with its pixels in stored blocks of deflate (RFC 1951,
// section 3.2.4): nothing is compressed, so that the size of a file follows
// from the size of its picture.
#include "core/codec/png.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/codec/checksum.h"

namespace ctxfs {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n"sv;
constexpr size_t kChunkFrame = 12;  // length, type, CRC
constexpr size_t kHeaderBytes = 13;
constexpr size_t kZlibFrame = 6;  // header, Adler-32
constexpr size_t kBlockHeader = 5;
constexpr size_t kMaxStored = 65'535;

/// Bytes of the pixels, and of the filter type before each row.
uint64_t FilteredSize(const Picture& picture) {
  return picture.size() + picture.height;
}

uint64_t ZlibSize(const Picture& picture) {
  const uint64_t plain = FilteredSize(picture);
  return kZlibFrame + plain +
         (plain + kMaxStored - 1) / kMaxStored * kBlockHeader;
}

unsigned char ColorType(unsigned channels) {
  if (channels == 3) return 2;
  return channels == 4 ? 6 : 0;
}

class Writer {
 public:
  explicit Writer(MutableBytes out) : out_(out) {}

  void Put(Bytes bytes) {
    std::memcpy(out_.data() + at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void Put(std::string_view text) { Put(AsBytes(text)); }
  void PutByte(unsigned value) { out_[at_++] = static_cast<std::byte>(value); }
  void PutBig(uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) PutByte(value >> shift & 0xFF);
  }

  void BeginChunk(uint64_t size, std::string_view type) {
    PutBig(static_cast<uint32_t>(size));
    chunk_ = at_;
    Put(type);
  }
  void EndChunk() { PutBig(Crc32(Bytes(out_).subspan(chunk_, at_ - chunk_))); }

 private:
  MutableBytes out_;
  size_t at_ = 0;
  size_t chunk_ = 0;  // start of the bytes that the chunk's CRC covers
};

/// Writes zlib data as stored blocks. All blocks except the last have the
/// maximum length.
class StoredBlocks {
 public:
  StoredBlocks(Writer& out, uint64_t size) : out_(out), left_(size) {
    out_.PutByte(0x78);  // deflate, a window of 32 KiB
    out_.PutByte(0x01);  // the fastest level; makes the header a multiple of 31
  }

  void Put(Bytes bytes) {
    adler_ = isal_adler32(adler_,
                          reinterpret_cast<const unsigned char*>(bytes.data()),
                          bytes.size());
    while (!bytes.empty()) {
      if (room_ == 0) BeginBlock();
      const size_t size = std::min(room_, bytes.size());
      out_.Put(bytes.first(size));
      bytes = bytes.subspan(size);
      room_ -= size;
    }
  }
  void End() { out_.PutBig(adler_); }

 private:
  void BeginBlock() {
    room_ = static_cast<size_t>(std::min<uint64_t>(left_, kMaxStored));
    left_ -= room_;
    const auto size = static_cast<unsigned>(room_);
    out_.PutByte(left_ == 0 ? 1 : 0);
    for (const unsigned value : {size, ~size}) {
      out_.PutByte(value & 0xFF);
      out_.PutByte(value >> 8 & 0xFF);
    }
  }

  Writer& out_;
  uint64_t left_;    // bytes of the blocks after this one
  size_t room_ = 0;  // bytes missing in this block
  uint32_t adler_ = 1;
};

/// Writes the rows without a filter; 16-bit numbers become big-endian.
Status PutRows(const Picture& picture, Bytes pixels, const Interrupt& interrupt,
               StoredBlocks& out) {
  const auto size = static_cast<size_t>(picture.row_size());
  Buffer row(1 + size);
  row.data()[0] = std::byte{0};
  for (uint32_t y = 0; y < picture.height; ++y) {
    CTXFS_TRY(interrupt.Check());
    const Bytes from = pixels.subspan(y * size, size);
    std::byte* const to = row.data() + 1;
    if (picture.depth == 8) {
      std::memcpy(to, from.data(), size);
    } else {
      for (size_t i = 0; i < size; ++i) to[i] = from[i ^ 1U];
    }
    out.Put(row.span());
  }
  out.End();
  return {};
}

}  // namespace

uint64_t PngSize(const Picture& picture) {
  return kSignature.size() + 3 * kChunkFrame + kHeaderBytes + ZlibSize(picture);
}

Result<Buffer> EncodePng(const Picture& picture, Bytes pixels,
                         const Interrupt& interrupt) {
  Buffer made(static_cast<size_t>(PngSize(picture)));
  Writer out(made.span());
  out.Put(kSignature);
  out.BeginChunk(kHeaderBytes, "IHDR");
  out.PutBig(picture.width);
  out.PutBig(picture.height);
  out.PutByte(picture.depth);
  out.PutByte(ColorType(picture.channels));
  // Writes compression method 0, filter method 0 and interlace method 0 (none).
  for (int i = 0; i < 3; ++i) out.PutByte(0);
  out.EndChunk();
  out.BeginChunk(ZlibSize(picture), "IDAT");
  StoredBlocks blocks(out, FilteredSize(picture));
  CTXFS_TRY(PutRows(picture, pixels, interrupt, blocks));
  out.EndChunk();
  out.BeginChunk(0, "IEND");
  out.EndChunk();
  return made;
}

}  // namespace ctxfs
