// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/codec/codec.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// Decodes into the middle of a larger buffer, and checks that nothing is
/// written outside of the `size` bytes there.
Result<std::string> Unpack(std::string_view stored, size_t size,
                           Codec codec = Codec::kZstd) {
  constexpr size_t kMargin = 4096;
  constexpr char kCanary = '\x5A';
  std::string all(size + 2 * kMargin, kCanary);
  const Status decoded =
      Decode(codec, AsBytes(stored),
             std::as_writable_bytes(std::span(all)).subspan(kMargin, size));
  const std::string margin(kMargin, kCanary);
  EXPECT_TRUE(all.substr(0, kMargin) == margin);
  EXPECT_TRUE(all.substr(kMargin + size) == margin);
  if (!decoded) return decoded.error();
  return all.substr(kMargin, size);
}

std::string SkippableFrame(uint32_t number, std::string_view content) {
  std::string frame;
  for (const uint32_t field :
       {0x184D2A50U + number, static_cast<uint32_t>(content.size())}) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      frame += static_cast<char>(field >> shift & 0xFFU);
    }
  }
  return frame.append(content);
}

TEST(DecodeZstd, DecodesFramesOfEveryStyle) {
  for (const size_t size : {0U, 1U, 100U, 5000U, 300'000U}) {
    const std::string text = Prose(size);
    for (const bool content_size : {false, true}) {
      for (const bool checksum : {false, true}) {
        const std::string frame = Zstd(text, {content_size, checksum});
        const Result<std::string> decoded = Unpack(frame, size);
        ASSERT_TRUE(Ok(decoded)) << size << content_size << checksum;
        EXPECT_TRUE(*decoded == text);
      }
    }
  }
  // What zstd cannot compress it stores.
  EXPECT_TRUE(*Unpack(Zstd(Noise(5000)), 5000) == Noise(5000));
}

TEST(DecodeZstd, LargeFramesAreJoinedByManyThreads) {
  // Told sizes: 3 MiB and a little, 0 (skippable), 1 MiB and so on.
  const std::string block = Prose(1 << 20);
  std::string text;
  std::string stored;
  for (const size_t blocks : {3U, 0U, 1U, 2U, 4U, 1U}) {
    std::string part;
    for (size_t i = 0; i < blocks; ++i) part += block;
    part += std::to_string(blocks);
    text += part;
    stored += Zstd(part, {true, true}) + SkippableFrame(3, "skipped");
  }
  EXPECT_TRUE(*Unpack(stored, text.size()) == text);
  // One frame that does not tell its size.
  const std::string untold = stored + Zstd("more", {false, true});
  EXPECT_TRUE(*Unpack(untold, text.size() + 4) == text + "more");

  for (const size_t size : {text.size() - 1, text.size() + 1}) {
    EXPECT_EQ(Unpack(stored, size).error().code, Code::kCorrupt) << size;
  }
  std::string damaged = stored;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_EQ(Unpack(damaged, text.size()).error().code, Code::kCorrupt);
  EXPECT_EQ(
      Unpack(stored.substr(0, stored.size() - 20), text.size()).error().code,
      Code::kCorrupt);

  class Over final : public Interrupt {
    bool interrupted() const override { return true; }
  };
  std::string out(text.size(), '\0');
  EXPECT_EQ(DecodeZstd(AsBytes(stored), std::as_writable_bytes(std::span(out)),
                       Over())
                .error()
                .code,
            Code::kInterrupted);
}

TEST(DecodeZstd, JoinsFramesAndSkipsSkippableOnes) {
  const std::string a = Zstd("hello ");
  const std::string b = Zstd("world", {false, true});
  const std::string skip = SkippableFrame(0, "anything");
  const std::string last = SkippableFrame(15, "");
  for (const std::string& stored :
       {a + b, skip + a + b, a + b + skip, a + skip + b,
        skip + last + a + skip + skip + b + last}) {
    const Result<std::string> decoded = Unpack(stored, 11);
    ASSERT_TRUE(Ok(decoded));
    EXPECT_EQ(*decoded, "hello world");
  }
  EXPECT_TRUE(Ok(Unpack(skip + Zstd(""), 0)));
}

TEST(DecodeZstd, RefusesEverySizeButItsOwn) {
  const std::string text = Prose(5000);
  for (const bool content_size : {false, true}) {
    const std::string frame = Zstd(text, {content_size, false});
    for (const size_t size : {0U, 1U, 4999U, 5001U, 1U << 20U}) {
      EXPECT_TRUE(Fails(Unpack(frame, size), Code::kCorrupt)) << size;
    }
    EXPECT_TRUE(Fails(Unpack(frame + frame, 5000), Code::kCorrupt));
  }
  EXPECT_TRUE(Fails(Unpack(Zstd(""), 1), Code::kCorrupt));
  EXPECT_TRUE(Fails(Unpack("", 1), Code::kCorrupt));
}

TEST(DecodeZstd, RefusesTrailingBytes) {
  const std::string frame = Zstd(Prose(5000));
  for (const std::string& tail :
       {std::string(1, '\0'), std::string("garbage"), frame.substr(0, 4),
        frame.substr(0, frame.size() - 1), SkippableFrame(0, "ab").substr(0, 9),
        std::string(64, '\0')}) {
    EXPECT_TRUE(Fails(Unpack(frame + tail, 5000), Code::kCorrupt));
  }
  EXPECT_TRUE(Fails(Unpack("\xff" + frame, 5000), Code::kCorrupt));
}

TEST(DecodeZstd, RefusesAFrameCutAnywhere) {
  for (const bool content_size : {false, true}) {
    const std::string frame = Zstd(Prose(2000), {content_size, true});
    for (size_t size = 0; size < frame.size(); ++size) {
      EXPECT_TRUE(Fails(Unpack(frame.substr(0, size), 2000), Code::kCorrupt))
          << size;
    }
  }
}

TEST(DecodeZstd, NoticesAWrongContentChecksum) {
  std::string frame = Zstd(Noise(1000), {true, true});
  frame[500] = static_cast<char>(frame[500] ^ 1);
  EXPECT_TRUE(Fails(Unpack(frame, 1000), Code::kCorrupt));
}

TEST(DecodeZstd, WritesNoMoreThanAskedForWhateverTheFrameHolds) {
  const std::string zeros(64 << 20, '\0');
  for (const bool content_size : {false, true}) {
    const std::string bomb = Zstd(zeros, {content_size, false});
    ASSERT_LT(bomb.size(), 16'384U);
    EXPECT_TRUE(Fails(Unpack(bomb, 1000), Code::kCorrupt));
  }
}

TEST(DecodeZstd, RefusesAFrameThatWantsADictionary) {
  std::string frame = Zstd("hello world, hello world");
  ASSERT_EQ(static_cast<unsigned char>(frame[4]) & 0x23U, 0x20U)
      << "a single segment without a dictionary";
  EXPECT_TRUE(Ok(Unpack(frame, 24)));
  frame[4] = static_cast<char>(frame[4] | 1);  // a dictionary id of one byte
  frame.insert(5, 1, '\x2A');
  EXPECT_TRUE(Fails(Unpack(frame, 24), Code::kCorrupt));
}

TEST(LooksLikeZstd, AsksForTheWholeMagic) {
  EXPECT_TRUE(LooksLikeZstd(AsBytes(Zstd("x"))));
  EXPECT_TRUE(LooksLikeZstd(AsBytes("\x28\xB5\x2F\xFD")));
  EXPECT_FALSE(LooksLikeZstd(AsBytes("\x28\xB5\x2F")));
  EXPECT_FALSE(LooksLikeZstd(AsBytes("\x28\xB5\x2F\xFE")));
  EXPECT_FALSE(LooksLikeZstd(Bytes()));
}

TEST(Decode, OfNoCodecCopiesBytesOfTheSameNumber) {
  EXPECT_EQ(*Unpack("hello", 5, Codec::kNone), "hello");
  EXPECT_EQ(*Unpack("", 0, Codec::kNone), "");
  EXPECT_TRUE(Fails(Unpack("hello", 4, Codec::kNone), Code::kCorrupt));
  EXPECT_TRUE(Fails(Unpack("hello", 6, Codec::kNone), Code::kCorrupt));
}

TEST(Decode, SendsEachCodecItsOwnWay) {
  const std::string text = Prose(1000);
  EXPECT_TRUE(*Unpack(Zstd(text), 1000, Codec::kZstd) == text);
  EXPECT_TRUE(*Unpack(Lz4(text), 1000, Codec::kLz4) == text);
  EXPECT_TRUE(Fails(Unpack(Zstd(text), 1000, Codec::kLz4), Code::kCorrupt));
  EXPECT_TRUE(Fails(Unpack(Lz4(text), 1000, Codec::kZstd), Code::kCorrupt));
  EXPECT_STREQ(CodecName(Codec::kNone), "none");
  EXPECT_STREQ(CodecName(Codec::kZstd), "zstd");
  EXPECT_STREQ(CodecName(Codec::kLz4), "lz4");
}

Result<std::string> Frame(std::string_view stored, uint64_t limit) {
  const Result<ZstdFrame> frame = DecodeZstdFrame(AsBytes(stored), limit);
  if (!frame) return frame.error();
  return std::string(AsText(frame->bytes.span()));
}

TEST(ZstdFrame, WithAndWithoutItsSize) {
  for (const size_t size : {0U, 1U, 1000U, 3'000'000U}) {
    const std::string text = Prose(size);
    for (const bool told : {true, false}) {
      const std::string stored = Zstd(text, {.content_size = told}) + "after";
      const Result<ZstdFrame> frame =
          DecodeZstdFrame(AsBytes(stored), 3'000'000);
      ASSERT_TRUE(Ok(frame)) << size;
      EXPECT_TRUE(AsText(frame->bytes.span()) == text);
      EXPECT_EQ(frame->stored_size, stored.size() - 5);
    }
  }
}

TEST(ZstdFrame, ABombIsALimit) {
  const std::string zeros(10'000'000, '\0');
  for (const bool told : {true, false}) {
    const std::string bomb = Zstd(zeros, {.content_size = told});
    EXPECT_TRUE(Fails(Frame(bomb, 9'999'999), Code::kLimit)) << told;
    EXPECT_TRUE(Ok(Frame(bomb, 10'000'000))) << told;
  }
}

TEST(ZstdFrame, DamageIsCorrupt) {
  const std::string frame = Zstd(Prose(5000), {.content_checksum = true});
  for (const size_t size : {0U, 3U, 5U, 20U}) {
    EXPECT_TRUE(Fails(Frame(frame.substr(0, size), 9000), Code::kCorrupt));
  }
  EXPECT_TRUE(Fails(Frame("plain text", 9000), Code::kCorrupt));
  EXPECT_TRUE(Fails(Frame(SkippableFrame(0, "x"), 9000), Code::kCorrupt));
}

}  // namespace
}  // namespace ctxfs
