// SPDX-License-Identifier: Apache-2.0
#include "core/codec/deflate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

std::string Words(size_t size) {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < size) {
    text += static_cast<char>('a' + random() % 4);
    if (random() % 7 == 0) text += text.substr(text.size() / 2, 20);
  }
  text.resize(size);
  return text;
}

/// Pieces of `size` bytes.
NextBytes InPieces(const std::string& stored, size_t size) {
  return [&stored, size, at = size_t{0}]() mutable -> Result<Bytes> {
    const Bytes piece =
        AsBytes(stored).subspan(at, std::min(size, stored.size() - at));
    at += piece.size();
    return piece;
  };
}

Status Decode(const std::string& stored, std::string& out, size_t piece) {
  return DecodeDeflate(InPieces(stored, piece),
                       {reinterpret_cast<std::byte*>(out.data()), out.size()});
}

TEST(Deflate, DecodesPiecesOfAnySize) {
  constexpr size_t kSizes[] = {0, 1, 100, 70'000, 3'000'000};
  constexpr size_t kPieces[] = {1, 7, 65'536, 10'000'000};
  for (const size_t size : kSizes) {
    const std::string text = Words(size);
    const std::string stored = RawDeflate(text);
    for (const size_t piece : kPieces) {
      if (piece == 1 && size > 100'000) continue;
      std::string out(text.size(), '\0');
      ASSERT_TRUE(Ok(Decode(stored, out, piece)));
      ASSERT_TRUE(out == text) << size << " in pieces of " << piece;
    }
  }
}

TEST(Deflate, AcceptsOnlyTheExactSize) {
  const std::string text = Words(5000);
  const std::string stored = RawDeflate(text);
  constexpr size_t kSizes[] = {0, 1, 4999, 5001, 9000};
  for (const size_t size : kSizes) {
    std::string out(size, '\0');
    EXPECT_TRUE(Fails(Decode(stored, out, 1000), Code::kCorrupt)) << size;
  }
  std::string out(text.size(), '\0');
  EXPECT_TRUE(Ok(Decode(stored + "what follows", out, 1000)));
}

TEST(Deflate, RefusesDamage) {
  const std::string text = Words(5000);
  const std::string stored = RawDeflate(text);
  std::string out(text.size(), '\0');
  for (size_t cut = 0; cut < stored.size(); cut += 37) {
    EXPECT_TRUE(Fails(Decode(stored.substr(0, cut), out, 100), Code::kCorrupt));
  }
  EXPECT_TRUE(Fails(Decode("\x07", out, 1), Code::kCorrupt));
  EXPECT_TRUE(Fails(Decode("", out, 1), Code::kCorrupt));
}

TEST(Deflate, DecodesAPrefix) {
  const std::string text = Words(100'000);
  const std::string stored = RawDeflate(text);
  std::string out(1000, '\0');
  const MutableBytes to(reinterpret_cast<std::byte*>(out.data()), out.size());
  EXPECT_EQ(DecodeDeflatePrefix(AsBytes(stored).first(2000), to), 1000U);
  EXPECT_EQ(out, text.substr(0, 1000));
  EXPECT_LT(DecodeDeflatePrefix(AsBytes(stored).first(20), to), 1000U);
}

TEST(Deflate, ASavedStateContinuesAtTheSamePlace) {
  const std::string text = Words(400'000);
  const std::string stored = RawDeflate(text);
  constexpr size_t kStops[] = {1, 32'768, 100'001, 399'999};
  for (const size_t stop : kStops) {
    DeflateDecoder decoder;
    std::string out(text.size(), '\0');
    const MutableBytes to(reinterpret_cast<std::byte*>(out.data()), out.size());
    const auto first = decoder.Decode(AsBytes(stored), to.first(stop));
    ASSERT_TRUE(Ok(first));
    ASSERT_EQ(first->made, stop);
    Buffer state(DeflateDecoder::StateBytes());
    decoder.SaveState(state.span());
    for (int i = 0; i < 2; ++i) {
      DeflateDecoder copy{Bytes(state.span())};
      const auto rest = copy.Decode(AsBytes(stored).subspan(first->taken),
                                    to.subspan(first->made));
      ASSERT_TRUE(Ok(rest));
      EXPECT_TRUE(out == text) << stop;
      std::fill(to.begin() + static_cast<std::ptrdiff_t>(first->made), to.end(),
                std::byte{0});
    }
  }
}

}  // namespace
}  // namespace ctxfs
