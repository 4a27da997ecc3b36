// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/dequant.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "core/base/bytes.h"
#include "tests/unit/testing/vector_targets.h"

namespace ctxfs {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr unsigned kWidths[] = {2, 3, 4, 6, 8};

std::vector<std::byte> Block(unsigned bits,
                             std::initializer_list<unsigned> start) {
  std::vector<std::byte> codes(BlockBytes(bits));
  size_t i = 0;
  for (const unsigned byte : start) codes[i++] = static_cast<std::byte>(byte);
  return codes;
}

uint32_t BitsAt(const std::vector<std::byte>& out, size_t i) {
  return LoadLe<uint32_t>(out.data() + 4 * i);
}

std::vector<float> Values(unsigned bits, const std::vector<std::byte>& codes,
                          float scale, size_t shown) {
  std::vector<std::byte> out(kBlockFloatBytes);
  kScalarDequant.blocks(bits, codes.data(), &scale, 1, out.data());
  std::vector<float> values;
  for (size_t i = 0; i < shown; ++i) {
    values.push_back(std::bit_cast<float>(BitsAt(out, i)));
  }
  return values;
}

TEST(Dequant, CodesOfEachWidthAreSignedAndLowestBitFirst) {
  using Floats = std::vector<float>;
  EXPECT_EQ(Values(8, Block(8, {0x29, 0x0A, 0xE4, 0x80}), 1, 4),
            (Floats{41, 10, -28, -128}));
  EXPECT_EQ(Values(6, Block(6, {0x8A, 0x90, 0xD3}), 1, 4),
            (Floats{10, 2, -7, -12}));
  EXPECT_EQ(Values(4, Block(4, {0xCC, 0x34, 0xFF, 0xFD}), 1, 8),
            (Floats{-4, -4, 4, 3, -1, -1, -3, -1}));
  EXPECT_EQ(Values(3, Block(3, {0xC1, 0x8F, 0xC3}), 1, 8),
            (Floats{1, 0, -1, -1, 0, -1, 0, -2}));
  EXPECT_EQ(Values(2, Block(2, {0x00, 0xC0, 0x05}), 1, 12),
            (Floats{0, 0, 0, 0, 0, 0, 0, -1, 1, 1, 0, 0}));
}

TEST(Dequant, AScaleOfZeroGivesPositiveZeros) {
  const std::vector<std::byte> codes = Block(4, {0xCC, 0x34});
  for (const float zero : {0.0F, -0.0F}) {
    std::vector<std::byte> out(kBlockFloatBytes, std::byte{1});
    for (const DequantKernels* kernels : {&kScalarDequant, &FastestDequant()}) {
      kernels->blocks(4, codes.data(), &zero, 1, out.data());
      EXPECT_EQ(out, std::vector<std::byte>(kBlockFloatBytes));
    }
  }
}

TEST(Dequant, ANanIsAlwaysTheSame) {
  const std::vector<std::byte> codes = Block(8, {1, 0, 0xFF});
  std::vector<std::byte> out(kBlockFloatBytes);
  const auto nan = std::bit_cast<float>(0xFFA46000U);
  for (const DequantKernels* kernels : {&kScalarDequant, &FastestDequant()}) {
    kernels->blocks(8, codes.data(), &nan, 1, out.data());
    EXPECT_EQ(BitsAt(out, 0), kDequantNan);
    kernels->blocks(8, codes.data(), &kInf, 1, out.data());
    EXPECT_EQ(BitsAt(out, 0), 0x7F800000U);
    EXPECT_EQ(BitsAt(out, 1), kDequantNan);
    EXPECT_EQ(BitsAt(out, 2), 0xFF800000U);
  }
}

TEST(Dequant, AffineSubtractsTheZeroFirst) {
  const std::vector<std::byte> codes = Block(8, {0x81, 0, 5});
  std::vector<std::byte> out(kBlockFloatBytes);
  FastestDequant().affine(8, codes.data(), 0.03125F, -28, 1, out.data());
  EXPECT_EQ(BitsAt(out, 0), std::bit_cast<uint32_t>(-3.09375F));
  EXPECT_EQ(BitsAt(out, 1), std::bit_cast<uint32_t>(0.875F));
  const std::vector<std::byte> nibbles = Block(4, {0xF9});
  FastestDequant().affine(4, nibbles.data(), 0.5F, 1.5F, 1, out.data());
  EXPECT_EQ(BitsAt(out, 0), std::bit_cast<uint32_t>(-4.25F));
  EXPECT_EQ(BitsAt(out, 1), std::bit_cast<uint32_t>(-1.25F));
}

/// Scales of every sort: zeros, subnormals, the largest, infinities, NaNs of
/// both kinds with payloads, and any bits at all.
std::vector<float> Scales(size_t count, std::mt19937& random) {
  constexpr std::array<uint32_t, 14> kOdd = {
      0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF,
      0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
      0x7FC00000, 0xFFC12345, 0x7F800001, 0xFFA46000};
  std::vector<float> scales;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = i % 3 == 0 ? kOdd[random() % kOdd.size()]
                                     : static_cast<uint32_t>(random());
    scales.push_back(std::bit_cast<float>(bits));
  }
  return scales;
}

/// Compares the kernels that this processor takes with the scalar ones.
void ExpectTheSameBits() {
  const DequantKernels& vectors = FastestDequant();
  constexpr size_t kCount = 20'000;
  std::mt19937 random(11);
  const std::vector<float> scales = Scales(kCount, random);
  for (const unsigned bits : kWidths) {
    std::vector<std::byte> codes(kCount * BlockBytes(bits));
    for (std::byte& byte : codes) byte = static_cast<std::byte>(random());
    // An odd address, because no alignment is required.
    std::vector<std::byte> a(kCount * kBlockFloatBytes + 1);
    std::vector<std::byte> b(a.size());
    kScalarDequant.blocks(bits, codes.data(), scales.data(), kCount,
                          a.data() + 1);
    vectors.blocks(bits, codes.data(), scales.data(), kCount, b.data() + 1);
    ASSERT_TRUE(a == b) << bits << " bits";
    if (bits != 4 && bits != 8) continue;
    a.resize(8 * kBlockFloatBytes + 1);
    b.resize(a.size());
    for (size_t i = 0; i + 1 < 500; ++i) {
      kScalarDequant.affine(bits, codes.data(), scales[i], scales[i + 1], 8,
                            a.data() + 1);
      vectors.affine(bits, codes.data(), scales[i], scales[i + 1], 8,
                     b.data() + 1);
      ASSERT_TRUE(a == b) << bits << " bits, affine";
    }
  }
}

TEST(Dequant, Item43_16_EveryKindOfVectorGivesTheSameBits) {
  WithEachVectorTarget(&ExpectTheSameBits);
}

// What is read ends with the codes, wherever the vectors of a block end.
TEST(Dequant, Item43_16_NothingBeyondABlockIsRead) {
  WithEachVectorTarget([] {
    for (const unsigned bits : kWidths) {
      // Its end is that of the memory, which a sanitizer watches.
      const std::vector<std::byte> codes(BlockBytes(bits), std::byte{0x5A});
      std::vector<std::byte> a(kBlockFloatBytes);
      std::vector<std::byte> b(kBlockFloatBytes);
      const float scale = 0.75F;
      kScalarDequant.blocks(bits, codes.data(), &scale, 1, a.data());
      FastestDequant().blocks(bits, codes.data(), &scale, 1, b.data());
      EXPECT_TRUE(a == b) << bits << " bits";
    }
  });
}

TEST(Dequant, Item43_16_GroupsOfAnySizeGiveTheSameBits) {
  constexpr size_t kCount = 48 * 40;
  std::mt19937 random(12);
  std::vector<int8_t> codes(kCount);
  for (int8_t& code : codes) code = static_cast<int8_t>(random());
  const std::vector<float> scales = Scales(kCount / 8, random);
  const std::vector<float> adds = Scales(kCount / 8, random);
  WithEachVectorTarget([&] {
    for (const size_t group : {8U, 16U, 24U, 32U}) {
      for (const float* add :
           {static_cast<const float*>(nullptr), adds.data()}) {
        std::vector<std::byte> a(4 * kCount);
        std::vector<std::byte> b(4 * kCount);
        kScalarDequant.grouped(codes.data(), scales.data(), add, kCount, group,
                               a.data());
        FastestDequant().grouped(codes.data(), scales.data(), add, kCount,
                                 group, b.data());
        EXPECT_TRUE(a == b) << "groups of " << group;
      }
    }
  });
}

}  // namespace
}  // namespace ctxfs
