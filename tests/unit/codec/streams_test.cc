// SPDX-License-Identifier: Apache-2.0
//
// bzip2, LZMA, xz and Deflate64, as ZIP has them.
#include "tests/unit/testing/streams.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/codec/stream.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// A codec, and a stream of `text` by another program.
struct Coded {
  const char* name;
  StreamDecoder decode;
  std::string stored;
};

std::vector<Coded> AllOf(const std::string& text) {
  return {{"bzip2", &DecodeBzip2Stream, Bzip2(text)},
          {"lzma", &DecodeLzmaStream, ZipLzma(text)},
          {"xz", &DecodeXzStream, Xz(text)},
          // What deflate makes means the same in Deflate64, unless it has a
          // match of 258 bytes, which has another code.
          {"deflate64", &DecodeDeflate64Stream, RawDeflate(text)}};
}

TEST(Streams, DecodeWhateverThePieces) {
  const std::string text = Prose(60'000) + Noise(66'000) + Prose(40'000, 2);
  for (const Coded& one : AllOf(text)) {
    for (const size_t piece : {size_t{1}, size_t{777}, size_t{1} << 20}) {
      const auto decoded =
          UnpackStream(one.decode, one.stored, text.size(), piece);
      ASSERT_TRUE(Ok(decoded)) << one.name;
      EXPECT_TRUE(*decoded == text) << one.name;
    }
  }
}

TEST(Streams, HaveExactlyTheirSize) {
  const std::string text = Prose(100'000);
  for (const Coded& one : AllOf(text)) {
    for (const uint64_t size : {text.size() - 1, text.size() + 1}) {
      EXPECT_TRUE(
          Fails(UnpackStream(one.decode, one.stored, size), Code::kCorrupt))
          << one.name << size;
    }
  }
}

TEST(Streams, ACutStreamIsDamaged) {
  const std::string text = Prose(100'000);
  for (const Coded& one : AllOf(text)) {
    for (const size_t kept : {size_t{0}, size_t{5}, one.stored.size() / 2}) {
      EXPECT_TRUE(Fails(
          UnpackStream(one.decode, one.stored.substr(0, kept), text.size()),
          Code::kCorrupt))
          << one.name << kept;
    }
  }
}

TEST(Streams, BytesAfterTheEndAreIgnored) {
  const std::string text = Prose(10'000);
  for (const Coded& one : AllOf(text)) {
    EXPECT_TRUE(Ok(UnpackStream(one.decode, one.stored + "more", text.size())))
        << one.name;
  }
}

TEST(Streams, OfNothing) {
  for (const Coded& one : AllOf("")) {
    EXPECT_TRUE(Ok(UnpackStream(one.decode, one.stored, 0))) << one.name;
  }
}

TEST(Streams, AreInterrupted) {
  const std::string text = Prose(1'000'000);
  for (const Coded& one : AllOf(text)) {
    const InterruptAfter soon(2);
    EXPECT_TRUE(Fails(UnpackStream(one.decode, one.stored, text.size(), 1 << 20,
                                   kMaxStreamMemory, soon),
                      Code::kInterrupted))
        << one.name;
  }
}

TEST(Streams, ADictionaryBeyondTheMemoryIsNotMade) {
  const std::string text(9'000'000, 'x');
  constexpr uint64_t kLittle = 4 << 20;
  EXPECT_TRUE(Fails(
      UnpackStream(&DecodeXzStream, Xz(text), text.size(), 1 << 20, kLittle),
      Code::kNoMemory));
  EXPECT_TRUE(Fails(UnpackStream(&DecodeLzmaStream, ZipLzma(text), text.size(),
                                 1 << 20, kLittle),
                    Code::kNoMemory));
  // A dictionary of 8 MiB for a few bytes is as large as they are.
  EXPECT_TRUE(
      Ok(UnpackStream(&DecodeLzmaStream, ZipLzma("abc"), 3, 1000, kLittle)));
}

/// A stream of bits, each code from its highest bit.
class Bits {
 public:
  Bits& Number(uint32_t value, unsigned bits) {
    for (unsigned i = 0; i < bits; ++i) Bit(value >> i & 1);
    return *this;
  }
  Bits& Code(uint32_t value, unsigned bits) {
    for (unsigned i = bits; i-- > 0;) Bit(value >> i & 1);
    return *this;
  }
  std::string bytes() const { return bytes_; }

 private:
  void Bit(uint32_t bit) {
    if (used_ % 8 == 0) bytes_ += '\0';
    bytes_.back() = static_cast<char>(static_cast<uint8_t>(bytes_.back()) |
                                      bit << used_ % 8);
    ++used_;
  }
  std::string bytes_;
  unsigned used_ = 0;
};

/// The codes of a fixed block.
constexpr uint32_t Literal8(char c) { return 0x30 + static_cast<uint32_t>(c); }
constexpr uint32_t kLongest = 0xC0 + 285 - 280;  // of 8 bits

TEST(Deflate64, ALengthOfSixteenBits) {
  Bits in;
  in.Number(1, 1).Number(1, 2).Code(Literal8('a'), 8);
  in.Code(kLongest, 8).Number(65'535, 16).Code(0, 5);
  in.Code(0, 7);
  const auto decoded = UnpackStream(&DecodeDeflate64Stream, in.bytes(), 65'539);
  ASSERT_TRUE(Ok(decoded));
  EXPECT_TRUE(*decoded == std::string(65'539, 'a'));
}

TEST(Deflate64, TheFurthestDistance) {
  // "b", 65,535 times "a", and the byte 65,536 before.
  Bits in;
  in.Number(1, 1).Number(1, 2).Code(Literal8('b'), 8).Code(Literal8('a'), 8);
  in.Code(kLongest, 8).Number(65'534 - 3, 16).Code(0, 5);
  in.Code(1, 7).Code(31, 5).Number(16'383, 14);
  in.Code(0, 7);
  const std::string start = "b" + std::string(65'535, 'a');
  const auto decoded =
      UnpackStream(&DecodeDeflate64Stream, in.bytes(), start.size() + 3);
  ASSERT_TRUE(Ok(decoded));
  EXPECT_TRUE(*decoded == start + "baa");
}

TEST(Deflate64, WhatIsNoStream) {
  const auto fails = [](const Bits& in) {
    return Fails(
        UnpackStream(&DecodeDeflate64Stream, in.bytes() + "\xff\xff\xff", 9),
        Code::kCorrupt);
  };
  EXPECT_TRUE(fails(Bits().Number(1, 1).Number(3, 2)));  // no such block
  EXPECT_TRUE(
      fails(Bits().Number(1, 1).Number(0, 2).Number(0, 5).Number(5, 32)));
  EXPECT_TRUE(fails(Bits()  // a match before the start
                        .Number(1, 1)
                        .Number(1, 2)
                        .Code(1, 7)
                        .Code(0, 5)));
  EXPECT_TRUE(fails(Bits()  // symbol 286
                        .Number(1, 1)
                        .Number(1, 2)
                        .Code(0xC6, 8)));
  // Codes of lengths that are too many for their bits.
  Bits many;
  many.Number(1, 1).Number(2, 2).Number(0, 5).Number(0, 5).Number(15, 4);
  for (int i = 0; i < 19; ++i) many.Number(1, 3);
  EXPECT_TRUE(fails(many));
}

}  // namespace
}  // namespace ctxfs
