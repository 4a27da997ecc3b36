// SPDX-License-Identifier: Apache-2.0
//
// Codecs that are interrupted, and those that decode in pieces to be so.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/codec/codec.h"
#include "core/codec/crypto/aead.h"
#include "core/codec/png.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::string Unpacked(Codec codec, std::string_view stored, size_t size) {
  std::string out(size, '?');
  const Status decoded =
      Decode(codec, AsBytes(stored), std::as_writable_bytes(std::span(out)));
  return decoded ? out : decoded.error().Text();
}

TEST(CodecInPieces, ZstdGivesTheSameAsAtOnce) {
  // Larger than what is decoded at once, on and around the edges of pieces.
  for (const size_t size : {kMiB + 1, 2 * kMiB - 1, 2 * kMiB, 5 * kMiB + 7}) {
    const std::string text = Prose(size);
    for (const bool content_size : {false, true}) {
      for (const bool checksum : {false, true}) {
        const std::string frame = Zstd(text, {content_size, checksum});
        EXPECT_TRUE(Unpacked(Codec::kZstd, frame, size) == text)
            << size << content_size << checksum;
      }
    }
    EXPECT_TRUE(Unpacked(Codec::kZstd, Zstd(Noise(size)), size) == Noise(size));
  }
}

TEST(CodecInPieces, ZstdJoinsFramesAndRefusesWhatIsLeftOver) {
  const std::string one = Prose(kMiB, 1);
  const std::string two = Prose(kMiB / 2, 2);
  const std::string stored = Zstd(one) + Zstd(two, {false, true});
  const size_t size = one.size() + two.size();
  EXPECT_TRUE(Unpacked(Codec::kZstd, stored, size) == one + two);
  for (const std::string& bad :
       {stored.substr(0, stored.size() - 1), stored + "x", stored + stored,
        Zstd(one), std::string(), stored.substr(1)}) {
    std::string out(size, '?');
    EXPECT_TRUE(
        Fails(DecodeZstd(AsBytes(bad), std::as_writable_bytes(std::span(out))),
              Code::kCorrupt))
        << bad.size();
  }
  // A byte too many or too few.
  for (const size_t wrong : {size - 1, size + 1}) {
    std::string out(wrong, '?');
    EXPECT_TRUE(Fails(
        DecodeZstd(AsBytes(stored), std::as_writable_bytes(std::span(out))),
        Code::kCorrupt));
  }
}

TEST(CodecInPieces, ZstdTakesWindowsAsLargeAsTheFrame) {
  // Long matches need all that was decoded before: no window is kept apart.
  const std::string once = Noise(3 * kMiB);
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 27);
  ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
  const std::string text = once + Prose(5 * kMiB) + once;
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), text.data(),
                              text.size()));
  ZSTD_freeCCtx(context);
  ASSERT_LT(frame.size(), 5 * kMiB);
  EXPECT_TRUE(Unpacked(Codec::kZstd, frame, text.size()) == text);
}

TEST(CodecInterrupted, StopsAfterAMegabyteOrTwo) {
  constexpr size_t kSize = 20 * kMiB;
  const std::string text = Prose(kSize);
  for (const Codec codec : {Codec::kZstd, Codec::kLz4}) {
    const std::string stored = codec == Codec::kZstd ? Zstd(text) : Lz4(text);
    const InterruptAfter interrupt(3);
    std::string out(kSize, '?');
    EXPECT_TRUE(Fails(Decode(codec, AsBytes(stored),
                             std::as_writable_bytes(std::span(out)), interrupt),
                      Code::kInterrupted))
        << CodecName(codec);
    EXPECT_EQ(interrupt.asked(), 4U);
  }
  // zstd writes nothing after the interrupt.
  const InterruptAfter interrupt(2);
  std::string out(kSize, '?');
  (void)DecodeZstd(AsBytes(Zstd(text)), std::as_writable_bytes(std::span(out)),
                   interrupt)
      .has_value();
  EXPECT_EQ(out.find_first_not_of('?', 4 * kMiB), out.npos);
}

TEST(CodecInterrupted, LenientLz4AndPngAndCiphersStopToo) {
  const std::string text = Prose(8 * kMiB);
  std::string out(text.size(), '?');
  const InterruptAfter lenient(2);
  EXPECT_TRUE(
      Fails(DecodeLz4Lenient(AsBytes(Lz4(text)),
                             std::as_writable_bytes(std::span(out)), lenient),
            Code::kInterrupted));
  Picture picture;
  picture.width = 64;
  picture.height = 64;
  const InterruptAfter drawing(10);
  EXPECT_TRUE(Fails(EncodePng(picture, AsBytes(text).first(64 * 64), drawing),
                    Code::kInterrupted));
  EXPECT_EQ(drawing.asked(), 11U) << "once for each row";
  const InterruptAfter opening(2);
  EXPECT_TRUE(Fails(OpenSealed(AsBytes(text).first(MasterKey::kBytes), {},
                               AsBytes(text), opening),
                    Code::kInterrupted));
}

}  // namespace
}  // namespace ctxfs
