// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/codec/numbers/half.h"
#include "tests/unit/testing/vector_targets.h"

namespace ctxfs {
namespace {

std::vector<std::byte> Halves(const std::vector<uint16_t>& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    bytes[2 * i] = static_cast<std::byte>(values[i]);
    bytes[2 * i + 1] = static_cast<std::byte>(values[i] >> 8);
  }
  return bytes;
}

uint32_t Word(const std::vector<std::byte>& bytes, size_t i) {
  return LoadLe<uint32_t>(bytes.data() + 4 * i);
}

TEST(HalfToFloat, IsWhatTheFormatSays) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto found = HalfToFloat(static_cast<uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 10 & 0x1F);
    const int fraction = static_cast<int>(bits & 0x3FF);
    const bool negative = (bits & 0x8000) != 0;
    ASSERT_EQ(std::signbit(found), negative);
    if (exponent == 0x1F) {
      // NaNs keep their bits; the signalling ones do not become quiet.
      ASSERT_EQ(std::bit_cast<uint32_t>(found) & 0x7FFFFFFF,
                0x7F800000U | static_cast<uint32_t>(fraction) << 13);
      continue;
    }
    const double value = exponent == 0
                             ? std::ldexp(fraction, -24)
                             : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(found, negative ? -value : value) << bits;
  }
}

TEST(HalvesToFloats, Item43_16_AreBitEqualToOneByOne) {
  std::vector<uint16_t> values(0x10000);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint16_t>(i);
  }
  std::shuffle(values.begin(), values.end(), std::mt19937(1));
  const std::vector<std::byte> in = Halves(values);
  std::vector<std::byte> fast(in.size() * 2);
  std::vector<std::byte> scalar(in.size() * 2);
  HalvesToFloatsScalar(in, scalar);
  WithEachVectorTarget([&] {
    HalvesToFloats(in, fast);
    EXPECT_TRUE(fast == scalar);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(Word(fast, i), std::bit_cast<uint32_t>(HalfToFloat(values[i])));
    }
  });
}

// Every length and alignment: what is left over is converted too, and nothing
// is written past the end.
TEST(HalvesToFloats, TakeAnyLengthAndPlace) {
  const std::vector<std::byte> in = Halves(std::vector<uint16_t>(64, 0x7C01));
  for (size_t count = 0; count < 40; ++count) {
    for (size_t place = 0; place < 3; ++place) {
      std::vector<std::byte> out(4 * count + place + 1, std::byte{0xEE});
      HalvesToFloats(Bytes(in).first(2 * count),
                     MutableBytes(out).subspan(place, 4 * count));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(LoadLe<uint32_t>(out.data() + place + 4 * i), 0x7F802000U);
      }
      EXPECT_EQ(out.back(), std::byte{0xEE});
    }
  }
}

TEST(BytesToFloats, RoundsTwice) {
  std::vector<std::byte> in(256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> any(-3, 3);
  const float kInfinity = std::numeric_limits<float>::infinity();
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::pair<float, float>> cases = {{0.1F, -0.3F},   {1e38F, 0},
                                                {kInfinity, 1},  {kNan, kNan},
                                                {1, -kInfinity}, {0, -0.0F}};
  for (int i = 0; i < 200; ++i) cases.emplace_back(any(random), any(random));
  for (const std::pair<float, float>& one : cases) {
    const float scale = one.first;
    const float min = one.second;
    for (const size_t count : {size_t{256}, size_t{13}, size_t{0}}) {
      const Bytes from = Bytes(in).last(count);
      std::vector<std::byte> fast(4 * count);
      std::vector<std::byte> scalar(4 * count);
      BytesToFloatsScalar(from, scale, min, scalar);
      WithEachVectorTarget([&] {
        BytesToFloats(from, scale, min, fast);
        EXPECT_TRUE(fast == scalar) << scale << " " << min;
      });
      for (size_t i = 0; i < count; ++i) {
        // volatile: nothing may fuse the two operations.
        const volatile float product = static_cast<float>(from[i]) * scale;
        const volatile float sum = product + min;
        if (std::isnan(sum)) continue;
        const float expected = sum;
        ASSERT_EQ(Word(scalar, i), std::bit_cast<uint32_t>(expected));
      }
    }
  }
}

TEST(BytesToFloats, Item43_16_ANanIsThatOfAmd64OnEveryProcessor) {
  const float kInfinity = std::numeric_limits<float>::infinity();
  const float kNan = std::bit_cast<float>(0x7FC00000U);
  struct Case {
    float scale;
    float min;
    uint32_t of_0;
    uint32_t of_255;
  };
  const Case cases[] = {
      {kInfinity, 1, 0xFFC00000, 0x7F800000},
      {kInfinity, -kInfinity, 0xFFC00000, 0xFFC00000},
      {1e38F, -kInfinity, 0xFF800000, 0xFFC00000},
      {-1e38F, kInfinity, 0x7F800000, 0xFFC00000},
      {1e38F, -1e38F, 0xFE967699, 0x7F800000},
      {kNan, 1, 0x7FC00000, 0x7FC00000},
      {1, kNan, 0x7FC00000, 0x7FC00000},
      {kInfinity, kNan, 0xFFC00000, 0x7FC00000},
  };
  // More than a vector takes, and some of which it takes none.
  std::vector<std::byte> in(43);
  for (size_t i = 1; i < in.size(); i += 2) in[i] = std::byte{255};
  std::vector<std::byte> out(4 * in.size());
  for (const Case& one : cases) {
    WithEachVectorTarget([&] {
      BytesToFloats(in, one.scale, one.min, out);
      for (size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(Word(out, i), i % 2 == 0 ? one.of_0 : one.of_255)
            << one.scale << " " << one.min;
      }
    });
  }
}

TEST(UnpackPlane, ReadsCodesOfEveryWidthFromEveryBit) {
  std::mt19937 random(1);
  uint8_t dict[256];
  for (unsigned i = 0; i < 256; ++i) dict[i] = static_cast<uint8_t>(255 - i);
  for (unsigned width = 1; width <= 8; ++width) {
    for (unsigned bit = 0; bit < (width == 8 ? 1U : 8U); ++bit) {
      for (const size_t count : {0U, 1U, 7U, 8U, 9U, 100U}) {
        std::vector<unsigned> codes(count);
        std::vector<std::byte> packed((bit + count * width + 7) / 8);
        for (size_t i = 0; i < count; ++i) {
          codes[i] = static_cast<unsigned>(random()) % (1U << width);
          for (unsigned k = 0; k < width; ++k) {
            const size_t at = bit + i * width + k;
            const unsigned one = codes[i] >> (width - 1 - k) & 1U;
            packed[at / 8] |= static_cast<std::byte>(one << (7 - at % 8));
          }
        }
        std::vector<std::byte> out(4 * count, std::byte{0});
        ASSERT_TRUE(UnpackPlane(packed, bit, width, dict, 1U << width, 2, out));
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(Word(out, i), (255 - codes[i]) << 16) << width << bit << i;
        }
      }
    }
  }
}

TEST(UnpackPlane, RefusesCodesBeyondTheDictionary) {
  const std::vector<std::byte> packed(16, std::byte{0b11100100});
  const uint8_t dict[256] = {};
  std::vector<std::byte> out(4 * 64);
  EXPECT_TRUE(UnpackPlane(packed, 0, 2, dict, 4, 0, out));
  EXPECT_FALSE(UnpackPlane(packed, 0, 2, dict, 3, 0, out));
  EXPECT_FALSE(UnpackPlane(Bytes(packed).first(1), 0, 2, dict, 3, 0,
                           MutableBytes(out).first(16)));
}

}  // namespace
}  // namespace ctxfs
