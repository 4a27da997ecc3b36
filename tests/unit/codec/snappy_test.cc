// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/codec/codec.h"
#include "core/codec/stream.h"

namespace ctxfs {
namespace {

using std::literals::operator""s;

Status Snappy(const std::string& stored, std::string& out) {
  return DecodeSnappy(AsBytes(stored), std::as_writable_bytes(std::span(out)));
}

TEST(Snappy, DecodesLiteralsAndCopies) {
  std::string out(11, ' ');
  // "abc", then 8 bytes from 3 back, which overlap what they write.
  ASSERT_TRUE(Snappy("\x0B\x08"s + "abc" + "\x11\x03", out));
  EXPECT_EQ(out, "abcabcabcab");
  // Stores the distance in 2 bytes, then in 4, with the same result.
  ASSERT_TRUE(Snappy("\x0B\x08"s + "abc" + "\x1E\x03\0"s, out));
  EXPECT_EQ(out, "abcabcabcab");
  ASSERT_TRUE(Snappy("\x0B\x08"s + "abc" + "\x1F\x03\0\0\0"s, out));
  EXPECT_EQ(out, "abcabcabcab");
}

TEST(Snappy, DecodesLongLiterals) {
  const std::string text(300, 'x');
  std::string out(text.size(), ' ');
  // The length minus 1 in 2 bytes.
  ASSERT_TRUE(Snappy("\xAC\x02\xF4\x2B\x01" + text, out));
  EXPECT_EQ(out, text);
}

TEST(Snappy, NeverLeavesItsBuffers) {
  std::string out(3, ' ');
  EXPECT_FALSE(Snappy("", out));
  EXPECT_FALSE(Snappy("\x04\x08"s + "abc", out));      // another size
  EXPECT_FALSE(Snappy("\x03\x08"s + "ab", out));       // a cut literal
  EXPECT_FALSE(Snappy("\x03\x0C"s + "abcd", out));     // past the output
  EXPECT_FALSE(Snappy("\x03\x05\x01", out));           // from before the start
  EXPECT_FALSE(Snappy("\x03\x04"s + "ab\x01"s, out));  // a cut copy
  EXPECT_FALSE(Snappy("\x03\x04"s + "ab", out));       // a byte is missing
  EXPECT_FALSE(Snappy("\x03\x00\x61\x05\x00"s, out));  // a distance of 0
}

TEST(Brotli, DecodesOneStream) {
  // Of the program brotli, for "hello hello hello hello".
  const std::string stored = "\x0B\x02\x80hello\x03"s;
  std::string out;
  Bytes left = AsBytes(stored);
  const auto decode = [&](uint64_t size) {
    out.clear();
    left = AsBytes(stored);
    return DecodeBrotliStream(
        [&]() -> Result<Bytes> { return std::exchange(left, {}); },
        {size, kMaxStreamMemory},
        [&](Bytes decoded) {
          out += AsText(decoded);
          return Status();
        },
        NeverInterrupted());
  };
  EXPECT_TRUE(decode(5));
  EXPECT_EQ(out, "hello");
  EXPECT_FALSE(decode(4));
  EXPECT_FALSE(decode(6));
}

}  // namespace
}  // namespace ctxfs
