// SPDX-License-Identifier: Apache-2.0
#include "core/codec/zstd_stream.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>
#include <string_view>

#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/streams.h"

namespace ctxfs {
namespace {

constexpr size_t kPiece = 1 << 20;

Result<std::string> UnpackPieces(
    std::string_view stored, uint64_t size, size_t piece = 1000,
    uint64_t memory = kMaxStreamMemory,
    const Interrupt& interrupt = NeverInterrupted()) {
  return UnpackStream(&DecodeZstdStream, stored, size, piece, memory,
                      interrupt);
}

/// One frame that says it needs a window of 2^log bytes.
std::string FrameOfWindow(std::string_view text, int log) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, log);
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  // In two calls, so that it does not know how much there is.
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  EXPECT_EQ(
      ZSTD_isError(ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue)),
      0U);
  EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0U);
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  return frame;
}

TEST(ZstdStream, DecodesWhateverThePieces) {
  for (const size_t size : {size_t{0}, size_t{1}, kPiece - 1, kPiece,
                            kPiece + 1, 2 * kPiece, 3 * kPiece + 5}) {
    const std::string text = Prose(size);
    for (const bool content_size : {true, false}) {
      const std::string stored = Zstd(text, {content_size, content_size});
      for (const size_t piece : {size_t{1} << 12, stored.size()}) {
        const Result<std::string> decoded = UnpackPieces(stored, size, piece);
        ASSERT_TRUE(Ok(decoded)) << size;
        EXPECT_TRUE(*decoded == text) << size;
      }
    }
  }
  EXPECT_EQ(*UnpackPieces(Zstd("byte by byte"), 12, 1), "byte by byte");
}

TEST(ZstdStream, DecodesFramesInARow) {
  const std::string a = Prose(kPiece);  // ends where a piece does
  const std::string b = Noise(1000);
  const Result<std::string> decoded = UnpackPieces(
      Zstd(a) + Zstd("") + Zstd(b, {false, true}), a.size() + b.size());
  ASSERT_TRUE(Ok(decoded));
  EXPECT_TRUE(*decoded == a + b);
}

TEST(ZstdStream, RefusesWhatIsNotWhole) {
  const std::string text = Prose(200'000);
  const std::string stored = Zstd(text, {true, true});
  for (size_t cut = 1; cut < stored.size(); cut += 997) {
    EXPECT_TRUE(Fails(UnpackPieces(stored.substr(0, cut), text.size()),
                      Code::kCorrupt));
  }
  EXPECT_TRUE(Fails(UnpackPieces("", 5), Code::kCorrupt));
  EXPECT_TRUE(Fails(UnpackPieces(stored, text.size() - 1), Code::kCorrupt));
  EXPECT_TRUE(Fails(UnpackPieces(stored, text.size() + 1), Code::kCorrupt));
  EXPECT_TRUE(
      Fails(UnpackPieces(stored + "more", text.size()), Code::kCorrupt));
  std::string damaged = stored;
  damaged.back() ^= 1;  // the frame's own checksum
  EXPECT_TRUE(Fails(UnpackPieces(damaged, text.size()), Code::kCorrupt));
}

TEST(ZstdStream, BoundsTheWindow) {
  const std::string text = Prose(100'000);
  EXPECT_TRUE(*UnpackPieces(FrameOfWindow(text, 27), text.size()) == text);
  EXPECT_TRUE(Fails(UnpackPieces(FrameOfWindow(text, 28), text.size()),
                    Code::kNoMemory));
  const auto in_memory = [&](uint64_t memory) {
    return UnpackPieces(FrameOfWindow(text, 23), text.size(), 1000, memory);
  };
  EXPECT_TRUE(Ok(in_memory(11 * kPiece)));
  EXPECT_TRUE(Fails(in_memory(11 * kPiece - 1), Code::kNoMemory));
}

TEST(ZstdStream, StopsWhenItIsInterrupted) {
  // A few kilobytes that decode to many pieces.
  const std::string text(16 * kPiece, '\0');
  const std::string stored = Zstd(text);
  const InterruptAfter interrupt(3);
  EXPECT_TRUE(Fails(UnpackPieces(stored, text.size(), stored.size(),
                                 kMaxStreamMemory, interrupt),
                    Code::kInterrupted));
  EXPECT_EQ(interrupt.asked(), 4U);
}

TEST(ZstdStream, KnowsWhatZstdCanMake) {
  for (const size_t size : {size_t{0}, size_t{1}, kPiece, 20 * kPiece}) {
    EXPECT_TRUE(MayBeZstd(Zstd(std::string(size, 'x')).size(), size)) << size;
    EXPECT_TRUE(MayBeZstd(Zstd(Noise(size)).size(), size)) << size;
  }
  EXPECT_FALSE(MayBeZstd(1000, 40 * kPiece));
  EXPECT_FALSE(MayBeZstd(2 * kPiece, kPiece));
  EXPECT_TRUE(MayBeZstd(UINT64_MAX, UINT64_MAX - kPiece));
  EXPECT_FALSE(MayBeZstd(0, UINT64_MAX));
}

TEST(ZstdStream, PassesOnTheErrorsOfBothSides) {
  const std::string stored = Zstd("text");
  const Error failed{Code::kIo, "broken"};
  const auto end = [](Bytes) { return Status(); };
  EXPECT_TRUE(
      Fails(DecodeZstdStream([&]() -> Result<Bytes> { return failed; },
                             {4, kMaxStreamMemory}, end, NeverInterrupted()),
            Code::kIo));
  EXPECT_TRUE(
      Fails(DecodeZstdStream([&]() -> Result<Bytes> { return AsBytes(stored); },
                             {4, kMaxStreamMemory},
                             [&](Bytes) -> Status { return failed; },
                             NeverInterrupted()),
            Code::kIo));
}

}  // namespace
}  // namespace ctxfs
