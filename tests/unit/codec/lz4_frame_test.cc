// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <lz4frame.h>

#include <random>
#include <string>

#include "core/codec/codec.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

std::string NumbersInARow(size_t size) {
  std::minstd_rand random(7);
  std::string text;
  while (text.size() < size) text += std::to_string(random() % 1000) + " ";
  text.resize(size);
  return text;
}

std::string Frame(const std::string& text, bool linked, bool checksum) {
  LZ4F_preferences_t how{};
  how.frameInfo.blockMode = linked ? LZ4F_blockLinked : LZ4F_blockIndependent;
  how.frameInfo.blockSizeID = LZ4F_max64KB;
  how.frameInfo.contentChecksumFlag =
      checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  std::string frame(LZ4F_compressFrameBound(text.size(), &how), '\0');
  frame.resize(LZ4F_compressFrame(frame.data(), frame.size(), text.data(),
                                  text.size(), &how));
  return frame;
}

Result<std::string> Unframe(const std::string& frame, size_t size) {
  std::string out(size, 'x');
  CTXFS_TRY(
      DecodeLz4Frames(AsBytes(frame), std::as_writable_bytes(std::span(out))));
  return out;
}

TEST(Lz4Frame, DecodesEveryKind) {
  for (const size_t size : {0U, 1U, 1000U, 65536U, 3'000'000U}) {
    const std::string text = NumbersInARow(size);
    for (const bool linked : {false, true}) {
      for (const bool checksum : {false, true}) {
        const auto decoded = Unframe(Frame(text, linked, checksum), size);
        ASSERT_TRUE(Ok(decoded)) << size;
        EXPECT_EQ(*decoded, text);
      }
    }
  }
}

TEST(Lz4Frame, DecodesFramesInARow) {
  const std::string text = NumbersInARow(100'000);
  const std::string frames =
      Frame(text, true, true) + Frame("more", false, false);
  const auto decoded = Unframe(frames, text.size() + 4);
  ASSERT_TRUE(Ok(decoded));
  EXPECT_EQ(*decoded, text + "more");
}

TEST(Lz4Frame, RefusesAnotherSize) {
  const std::string frame = Frame(NumbersInARow(100'000), true, false);
  EXPECT_TRUE(Fails(Unframe(frame, 99'999), Code::kCorrupt));
  EXPECT_TRUE(Fails(Unframe(frame, 100'001), Code::kCorrupt));
  EXPECT_TRUE(Fails(Unframe(frame, 0), Code::kCorrupt));
}

TEST(Lz4Frame, RefusesDamage) {
  const std::string text = NumbersInARow(5000);
  const std::string frame = Frame(text, false, true);
  for (size_t size = 0; size < frame.size(); size += 7) {
    EXPECT_TRUE(
        Fails(Unframe(frame.substr(0, size), text.size()), Code::kCorrupt))
        << size;
  }
  for (size_t at = 0; at < frame.size(); at += 5) {
    std::string flipped = frame;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    const auto decoded = Unframe(flipped, text.size());
    if (decoded) {
      EXPECT_EQ(*decoded, text) << at;
    }
  }
  EXPECT_TRUE(Fails(Unframe("not a frame at all", 10), Code::kCorrupt));
}

// A match of distance 0 copies what was in the output before.
TEST(Lz4Frame, ShowsNoMemory) {
  std::string block;
  block += '\x14';  // one literal, a match of 8
  block += "a";
  block += std::string(2, '\0');
  block += '\x50';
  block += "endin";
  std::string frame("\x04\x22\x4d\x18\x60\x40\x82", 7);
  frame += static_cast<char>(block.size());
  frame += std::string(3, '\0') + block + std::string(4, '\0');
  const auto decoded = Unframe(frame, 14);
  if (decoded) {
    EXPECT_EQ(decoded->find('x'), std::string::npos);
  }
}

}  // namespace
}  // namespace ctxfs
