// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/codec/numbers/half.h"
#include "core/formats/mcf/quantisation.h"

namespace ctxfs::mcf {
namespace {

using Shape = std::vector<uint64_t>;

const std::map<uint32_t, unsigned> kBits = {{0x20, 8}, {0x21, 4}, {0x30, 6},
                                            {0x31, 4}, {0x32, 3}, {0x33, 2}};

McfQuantLayout LayoutOf(uint32_t dtype, const Shape& shape, uint64_t size) {
  const Result<McfQuantLayout> layout = McfLayoutOf(dtype, shape, size);
  EXPECT_TRUE(layout) << (layout ? "" : layout.error().what);
  return layout ? *layout : McfQuantLayout{};
}

std::string Window(const Transform& transform, uint64_t at, size_t length) {
  BlockCache cache(0);
  std::string out(length, '\0');
  EXPECT_TRUE(transform.Compute(
      at, std::as_writable_bytes(std::span(out.data(), length)), cache));
  return out;
}

/// Payloads in a container of their own, seven bytes in.
constexpr uint64_t kStart = 7;

std::shared_ptr<const Transform> ValuesOf(uint32_t dtype, const Shape& shape,
                                          const std::string& payload) {
  auto source =
      std::make_shared<const MemorySource>(std::string(kStart, 'x') + payload);
  return McfValues(source, kStart, LayoutOf(dtype, shape, payload.size()));
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> floats;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    floats.push_back(
        std::bit_cast<float>(LoadLe<uint32_t>(AsBytes(bytes).data() + i)));
  }
  return floats;
}

/// A payload of zeros with some bytes put into it.
std::string Payload(size_t size, const std::map<size_t, std::string>& parts) {
  std::string payload(size, '\0');
  for (const auto& [at, bytes] : parts)
    payload.replace(at, bytes.size(), bytes);
  return payload;
}

std::string Raw(std::initializer_list<unsigned> bytes) {
  std::string raw;
  for (const unsigned byte : bytes) raw += static_cast<char>(byte);
  return raw;
}

TEST(McfQuant, SizesOfLayouts) {
  EXPECT_EQ(LayoutOf(0x21, {1, 32}, 80).codes_at, 64U);
  EXPECT_EQ(LayoutOf(0x20, {3, 40}, 256).codes_at, 64U);
  EXPECT_EQ(LayoutOf(0x20, {33, 32}, 1184).codes_at, 128U);
  EXPECT_EQ(LayoutOf(0x30, {3, 40}, 272).codes_at, 128U);
  EXPECT_EQ(LayoutOf(0x31, {5, 300}, 928).codes_at, 128U);
  EXPECT_EQ(LayoutOf(0x32, {3, 40}, 200).codes_at, 128U);
  EXPECT_EQ(LayoutOf(0x33, {3, 40}, 176).codes_at, 128U);
  const McfQuantLayout large = LayoutOf(0x31, {255, 64}, 9184);
  EXPECT_EQ(large.sub_scales_at, 512U);
  EXPECT_EQ(large.codes_at, 1024U);
  EXPECT_EQ(large.value_bytes(), 255U * 64 * 4);
}

TEST(McfQuant, WhatHasNoLayout) {
  constexpr uint64_t kHuge = uint64_t{1} << 63;
  EXPECT_FALSE(McfLayoutOf(0x21, Shape{}, 80));
  EXPECT_FALSE(McfLayoutOf(0x21, Shape{32}, 80));
  EXPECT_FALSE(McfLayoutOf(0x21, Shape{1, 1, 32}, 80));
  EXPECT_FALSE(McfLayoutOf(0x21, Shape{0, 32}, 0));
  EXPECT_FALSE(McfLayoutOf(0x21, Shape{1, 32}, 79));
  EXPECT_FALSE(McfLayoutOf(0x21, Shape{1, 32}, 81));
  EXPECT_FALSE(McfLayoutOf(0x33, Shape{kHuge, kHuge}, 1 << 20));
  EXPECT_FALSE(McfLayoutOf(0x33, Shape{1, UINT64_MAX}, 1 << 20));
  EXPECT_FALSE(McfLayoutOf(0x33, Shape{UINT64_MAX, 1}, UINT64_MAX));
  EXPECT_FALSE(McfLayoutOf(0x10, Shape{kHuge, 2}, 0));
  EXPECT_FALSE(McfLayoutOf(0x10, Shape{15}, 16));
  EXPECT_FALSE(McfLayoutOf(0x11, Shape{UINT64_MAX}, 63));
}

TEST(McfQuant, Q4Ramp) {
  const auto values = ValuesOf(
      0x21, {1, 32},
      Payload(80, {{0, Raw({0x00, 0x30})},
                   {64, Raw({0xA9, 0xCB, 0xED, 0x0F, 0x21, 0x43, 0x65, 7})}}));
  const std::vector<float> floats = Floats(Window(*values, 0, 128));
  for (size_t i = 0; i < 32; ++i) {
    const float code = i < 15 ? static_cast<float>(i) - 7 : 0;
    EXPECT_EQ(floats[i], code * 0.125F);
  }
}

TEST(McfQuant, Q8WithAPartialBlock) {
  const auto values =
      ValuesOf(0x20, {3, 40},
               Payload(256, {{0, Raw({0x68, 0x13, 0x57, 0x10})},
                             {64, Raw({0x29, 0x0A, 0xE4, 0xD1})},
                             {96, Raw({0xD9})}}));
  const std::vector<float> floats = Floats(Window(*values, 0, 480));
  EXPECT_EQ(floats[0], 0.037067413330078125F);
  EXPECT_EQ(floats[1], 0.00904083251953125F);
  EXPECT_EQ(floats[2], -0.0253143310546875F);
  EXPECT_EQ(floats[3], -0.042491912841796875F);
  EXPECT_EQ(floats[32], -39 * HalfToFloat(0x1057));
}

TEST(McfQuant, SuperScales) {
  const auto k6 = ValuesOf(0x30, {3, 40},
                           Payload(272, {{0, Raw({0x96, 0x1B})},
                                         {64, Raw({0x20, 0x13})},
                                         {128, Raw({0x8A, 0x90, 0xD3})}}));
  EXPECT_EQ(Floats(Window(*k6, 0, 16)),
            (std::vector<float>{0.03704071044921875F, 0.00740814208984375F,
                                -0.025928497314453125F, -0.0444488525390625F}));
  const auto k4 =
      ValuesOf(0x31, {5, 300},
               Payload(928, {{0, Raw({0x84, 0x26})},
                             {64, Raw({15})},
                             {128, Raw({0xCC, 0x34, 0xFF, 0xFD})}}));
  const std::vector<float> floats = Floats(Window(*k4, 0, 32));
  EXPECT_EQ(floats[0], -0.04772186279296875F);
  EXPECT_EQ(floats[2], 0.04772186279296875F);
  EXPECT_EQ(floats[3], 0.03579139709472656F);
  const auto k3 = ValuesOf(0x32, {3, 40},
                           Payload(200, {{0, Raw({0xE6, 0x28})},
                                         {64, Raw({32})},
                                         {128, Raw({0xC1, 0x8F, 0xC3})}}));
  EXPECT_EQ(Floats(Window(*k3, 28, 4))[0], -0.0765380859375F);
  const auto k2 = ValuesOf(0x33, {3, 40},
                           Payload(176, {{0, Raw({0x59, 0x2F})},
                                         {64, Raw({32})},
                                         {128, Raw({0x00, 0xC0, 0x05})}}));
  EXPECT_EQ(Floats(Window(*k2, 28, 8)),
            (std::vector<float>{-0.11480712890625F, 0.11480712890625F}));
}

TEST(McfQuant, OneScaleWithAZero) {
  // Three by five, int8 and int4, of activations.
  const auto int8 =
      ValuesOf(0x10, {3, 5},
               Payload(143, {{0, Raw({0, 0, 0, 0x3D})},      // 0.03125
                             {64, Raw({0, 0, 0xE0, 0xC1})},  // -28
                             {128, Raw({0x81})},
                             {142, Raw({1})}}));
  const std::vector<float> floats = Floats(Window(*int8, 0, 60));
  EXPECT_EQ(floats[0], -3.09375F);
  EXPECT_EQ(floats[1], 0.875F);
  EXPECT_EQ(floats[14], 29 * 0.03125F);
  const auto int4 =
      ValuesOf(0x11, {3, 5},
               Payload(136, {{0, Raw({0, 0, 0, 0x3F})},      // 0.5
                             {64, Raw({0, 0, 0xC0, 0x3F})},  // 1.5
                             {128, Raw({0x09})},
                             {135, Raw({7})}}));
  EXPECT_EQ(Floats(Window(*int4, 0, 4))[0], -4.25F);
  EXPECT_EQ(Floats(Window(*int4, 56, 4))[0], 2.75F);
}

TEST(McfQuant, CodesWithoutTheirScale) {
  EXPECT_EQ(LayoutOf(0x11, {3, 5}, 8).kind, McfQuantLayout::Kind::kCodesOnly);
  EXPECT_EQ(LayoutOf(0x10, {3, 5}, 15).kind, McfQuantLayout::Kind::kCodesOnly);
  EXPECT_EQ(LayoutOf(0x10, {0, 5}, 64).elements(), 0U);
  auto source = std::make_shared<const MemorySource>(Raw({9, 0x1F, 0x78}));
  const auto codes = McfNibbles(source, 1);
  EXPECT_EQ(Window(*codes, 0, 4), Raw({7, 0xF9, 0, 0xFF}));
  EXPECT_EQ(Window(*codes, 1, 2), Raw({0xF9, 0}));
}

/// The decoding of docs/formats/mcf.md sections 6 and 7, element for element.
std::string Plainly(uint32_t dtype, const Shape& shape,
                    const std::string& payload, const McfQuantLayout& layout) {
  const std::byte* bytes = AsBytes(payload).data();
  std::string out;
  for (uint64_t e = 0; e < layout.elements(); ++e) {
    const uint64_t row = e / layout.columns;
    const uint64_t column = e % layout.columns;
    const uint64_t block = row * layout.blocks_per_row + column / 32;
    uint32_t code = 0;
    for (unsigned i = 0; i < layout.bits; ++i) {
      const uint64_t bit = (block * 32 + column % 32) * layout.bits + i;
      const auto byte = LoadLe<uint8_t>(bytes + layout.codes_at + bit / 8);
      code |= (byte >> bit % 8 & 1U) << i;
    }
    auto value = static_cast<float>(code);
    if ((code >> (layout.bits - 1) & 1U) != 0) {
      value -= static_cast<float>(1U << layout.bits);
    }
    if (dtype < 0x20) {
      const float zero =
          layout.has_zero ? std::bit_cast<float>(LoadLe<uint32_t>(bytes + 64))
                          : 0;
      value = std::bit_cast<float>(LoadLe<uint32_t>(bytes)) * (value - zero);
    } else {
      const uint64_t scale_index =
          dtype < 0x30 ? block : row * ((shape[1] + 255) / 256) + column / 256;
      float scale = HalfToFloat(LoadLe<uint16_t>(bytes + 2 * scale_index));
      const uint32_t sub =
          dtype < 0x30
              ? 32U
              : LoadLe<uint8_t>(bytes + layout.sub_scales_at + block) & 63U;
      const bool zero = scale == 0 || sub == 0;
      scale *= static_cast<float>(sub) / 32;
      value = zero ? 0 : value * scale;
    }
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) bits = 0x7FC00000;
    for (size_t k = 0; k < 4; ++k) out += static_cast<char>(bits >> 8 * k);
  }
  return out;
}

TEST(McfQuant, AnyWindowOfAnyShape) {
  std::mt19937 random(3);
  const auto random_payload = [&](size_t size) {
    std::string payload(size, '\0');
    for (char& byte : payload) byte = static_cast<char>(random());
    return payload;
  };
  // The last is worked on in several batches.
  const std::vector<Shape> shapes = {{1, 1},   {70, 1},  {5, 31},    {9, 32},
                                     {7, 33},  {3, 256}, {4, 257},   {5, 300},
                                     {2, 513}, {3, 64},  {130, 1055}};
  std::vector<std::tuple<uint32_t, Shape, size_t>> cases;
  for (const Shape& shape : shapes) {
    const uint64_t blocks = shape[0] * ((shape[1] + 31) / 32);
    const uint64_t supers = shape[0] * ((shape[1] + 255) / 256);
    const auto align = [](uint64_t n) { return (n + 63) / 64 * 64; };
    for (const auto& [dtype, bits] : kBits) {
      const uint64_t codes_at =
          dtype < 0x30 ? align(2 * blocks) : align(align(2 * supers) + blocks);
      cases.emplace_back(dtype, shape, codes_at + blocks * 4 * bits);
    }
    const uint64_t n = shape[0] * shape[1];
    for (const uint64_t head : {64U, 128U}) {
      cases.emplace_back(0x10, shape, head + n);
      cases.emplace_back(0x11, shape, head + (n + 1) / 2);
    }
  }
  for (const auto& [dtype, shape, size] : cases) {
    SCOPED_TRACE(std::to_string(dtype) + ": " + std::to_string(shape[0]) +
                 " by " + std::to_string(shape[1]));
    const std::string payload = random_payload(size);
    const auto values = ValuesOf(dtype, shape, payload);
    const std::string whole =
        Plainly(dtype, shape, payload, LayoutOf(dtype, shape, size));
    ASSERT_EQ(Window(*values, 0, whole.size()), whole);
    for (int i = 0; i < 100; ++i) {
      const size_t at = random() % whole.size();
      const size_t most = whole.size() - at;
      const size_t length =
          1 + random() % (i % 2 == 0 ? std::min<size_t>(most, 300) : most);
      ASSERT_EQ(Window(*values, at, length), whole.substr(at, length))
          << at << " " << length;
    }
  }
}

TEST(McfQuant, ATruncatedSourceIsAnError) {
  const std::string payload = Payload(80, {});
  auto source = std::make_shared<const MemorySource>(payload.substr(0, 79));
  const auto values = McfValues(source, 0, LayoutOf(0x21, {1, 32}, 80));
  BlockCache cache(0);
  std::array<std::byte, 128> out;
  EXPECT_FALSE(values->Compute(0, out, cache));
}

}  // namespace
}  // namespace ctxfs::mcf
