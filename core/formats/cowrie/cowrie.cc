// SPDX-License-Identifier: Apache-2.0
//
// The frame of cowrie values of generation 2 (docs/formats/cowrie.md, section
// 1).
//
//   0   "SJ", u8 version 2
//   3   u8 flags: 1 compressed, 2 with gzip, 4 with zstd, 8 hints
//   4   uvarint original length, if compressed; all that follows is compressed
//   ..  hints to skip, unless compressed; a dictionary of names; one value
#include "core/formats/cowrie/cowrie.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/codec/codec.h"
#include "core/formats/cowrie/decoder.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::cowrie {
namespace {

constexpr uint64_t kHeaderSize = 4;
constexpr uint8_t kVersion = 2;
constexpr uint8_t kCompressed = 0x01;
constexpr uint8_t kHints = 0x08;

Result<Buffer> Decompress(uint8_t kind, uint64_t length, Bytes stored,
                          const Interrupt& interrupt) {
  constexpr uint8_t kGzip = 1;
  constexpr uint8_t kZstd = 2;
  if (length > kMaxBytes) {
    return Error{
        Code::kLimit,
        fmt::format("cowrie: decodes to {} bytes, over the limit of {}", length,
                    kMaxBytes),
        kHeaderSize};
  }
  if (kind != kGzip && kind != kZstd) {
    return Error{Code::kCorrupt,
                 fmt::format("cowrie: compression {} is unknown", kind),
                 kHeaderSize - 1};
  }
  CTXFS_TRY(HeapAllowance::Admit(length));
  Buffer plain(static_cast<size_t>(length));
  CTXFS_TRY(kind == kGzip ? DecodeGzip(stored, plain.span(), interrupt)
                          : DecodeZstd(stored, plain.span(), interrupt));
  return plain;
}

}  // namespace

bool LooksLikeCowrie(Bytes bytes) { return AsText(bytes).starts_with("SJ"); }

Result<CowrieValue> ReadCowrie(Bytes bytes, const Interrupt& interrupt) {
  ByteReader in(bytes);
  in.Skip(2);
  const uint8_t version = in.U8();
  const uint8_t flags = in.U8();
  if (!in.ok() || !LooksLikeCowrie(bytes)) {
    return Error{Code::kCorrupt, "cowrie: does not start with 'SJ'", 0};
  }
  if (version != kVersion) {
    return Error{
        Code::kVersion,
        fmt::format("cowrie: version {} is not supported, only 2 is", version),
        2};
  }
  CowrieValue value;
  Bytes plain = bytes.subspan(kHeaderSize);
  uint64_t offset = kHeaderSize;
  bool hints = (flags & kHints) != 0;
  if ((flags & kCompressed) != 0) {
    const uint64_t length = in.Uvarint();
    if (!in.ok()) {
      return Error{Code::kCorrupt,
                   "cowrie: the length of the compressed value is missing or "
                   "not valid",
                   kHeaderSize};
    }
    const auto kind = static_cast<uint8_t>(flags >> 1 & 3U);
    Buffer unpacked =
        CTXFS_TRY(Decompress(kind, length, in.Take(in.remaining()), interrupt));
    value.unpacked.emplace(std::move(unpacked));
    plain = std::as_const(*value.unpacked).span();
    offset = 0;
    hints = false;  // compressed bytes contain no hints
  }
  CowrieArrays arrays;
  value.json =
      CTXFS_TRY(CowrieDecoder(plain, offset, arrays, interrupt).Decode(hints));
  value.left_out = arrays.left_out();
  value.arrays = std::move(arrays).Take();
  return value;
}

Result<Json> DecodeCowrie(Bytes bytes, const Interrupt& interrupt) {
  CowrieValue value;
  if (StartsLikeCowrie1(bytes)) {
    const Gen1Choice choice = CTXFS_TRY(ChooseCowrie1(bytes, interrupt));
    value = CTXFS_TRY(
        ReadCowrie1(bytes, choice.dialect, /*numbers=*/true, interrupt));
  } else {
    value = CTXFS_TRY(ReadCowrie(bytes, interrupt));
  }
  return std::move(value.json);
}

}  // namespace ctxfs::cowrie
