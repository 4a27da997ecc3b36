// SPDX-License-Identifier: Apache-2.0
#include "core/codec/png.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>
#include <random>
#include <vector>

namespace ctxfs {
namespace {

std::vector<std::byte> NoiseBytes(size_t size) {
  std::minstd_rand draw(1);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(draw() >> 8);
  return bytes;
}

uint32_t BigEndian(const std::byte* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | std::to_integer<uint32_t>(at[i]);
  }
  return value;
}

/// The pixels of an 8-bit PNG, by libpng's other interface.
std::vector<std::byte> Decode(const Buffer& file, png_uint_32 format) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()),
            0);
  image.format = format;
  std::vector<std::byte> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr),
            0);
  return pixels;
}

TEST(Png, GivesThePixelsBack) {
  using Kind = std::pair<unsigned, png_uint_32>;
  for (const auto& [channels, format] :
       {Kind{1, PNG_FORMAT_GRAY}, Kind{3, PNG_FORMAT_RGB},
        Kind{4, PNG_FORMAT_RGBA}}) {
    const Picture picture{13, 7, channels, 8};
    const std::vector<std::byte> pixels = NoiseBytes(picture.size());
    const Result<Buffer> file = EncodePng(picture, pixels);
    ASSERT_TRUE(file);
    EXPECT_EQ(Decode(*file, format), pixels);
  }
}

TEST(Png, SaysWhatItIs) {
  const Picture picture{5, 3, 1, 16};
  const Result<Buffer> file = EncodePng(picture, NoiseBytes(picture.size()));
  ASSERT_TRUE(file);
  const std::byte* header = file->data() + 16;  // signature, IHDR's frame
  EXPECT_EQ(BigEndian(header), 5U);
  EXPECT_EQ(BigEndian(header + 4), 3U);
  EXPECT_EQ(std::to_integer<int>(header[8]), 16);  // bits
  EXPECT_EQ(std::to_integer<int>(header[9]), 0);   // grey
}

TEST(Png, IsTheSameEveryTime) {
  const Picture picture{64, 48, 3, 8};
  const std::vector<std::byte> pixels = NoiseBytes(picture.size());
  const Result<Buffer> one = EncodePng(picture, pixels);
  const Result<Buffer> other = EncodePng(picture, pixels);
  ASSERT_TRUE(one && other);
  ASSERT_EQ(one->size(), other->size());
  EXPECT_EQ(std::memcmp(one->data(), other->data(), one->size()), 0);
}

TEST(Png, ItsSizeIsKnownBefore) {
  for (const uint32_t width : {1U, 2U, 100U, 8191U, 8192U, 65'535U}) {
    for (const uint32_t height : {1U, 2U, 33U}) {
      const Picture picture{width, height, 4, 8};
      const Result<Buffer> file =
          EncodePng(picture, NoiseBytes(picture.size()));
      ASSERT_TRUE(file);
      EXPECT_EQ(file->size(), PngSize(picture)) << width << "x" << height;
    }
  }
}

/// Blocks end within rows, and a row takes several.
TEST(Png, GivesThePixelsOfManyBlocksBack) {
  for (const Picture picture :
       {Picture{30'000, 5, 4, 8}, Picture{65'534, 3, 1, 8},
        Picture{65'535, 2, 3, 8}}) {
    const std::vector<std::byte> pixels = NoiseBytes(picture.size());
    const Result<Buffer> file = EncodePng(picture, pixels);
    ASSERT_TRUE(file);
    const png_uint_32 format = picture.channels == 4   ? PNG_FORMAT_RGBA
                               : picture.channels == 3 ? PNG_FORMAT_RGB
                                                       : PNG_FORMAT_GRAY;
    EXPECT_EQ(Decode(*file, format), pixels);
  }
}

}  // namespace
}  // namespace ctxfs
