// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace ctxfs {

struct ZstdStyle {
  bool content_size = true;
  bool content_checksum = false;
};

/// One zstd frame of `text`.
inline std::string Zstd(std::string_view text, ZstdStyle style = {}) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag,
                         style.content_size ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag,
                         style.content_checksum ? 1 : 0);
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress2(context, frame.data(), frame.size(),
                                     text.data(), text.size());
  ZSTD_freeCCtx(context);
  EXPECT_FALSE(ZSTD_isError(size)) << ZSTD_getErrorName(size);
  frame.resize(size);
  return frame;
}

/// Raw deflate of `text`, without a header.
inline std::string RawDeflate(std::string_view text, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string stored(deflateBound(&stream, text.size()) + 16, '\0');
  std::string input(text);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(stored.data());
  stream.avail_out = static_cast<uInt>(stored.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  stored.resize(stream.total_out);
  deflateEnd(&stream);
  return stored;
}

/// One raw LZ4 block of `text`.
inline std::string Lz4(std::string_view text) {
  std::string block(
      static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))),
      '\0');
  const int size = LZ4_compress_default(text.data(), block.data(),
                                        static_cast<int>(text.size()),
                                        static_cast<int>(block.size()));
  EXPECT_GT(size, 0);
  block.resize(static_cast<size_t>(size));
  return block;
}

/// `size` bytes that compress, the same for the same seed.
inline std::string Prose(size_t size, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) {
    text += "word" + std::to_string(random() % 97) + ' ';
  }
  text.resize(size);
  return text;
}

/// `size` bytes that do not, the same for the same seed.
inline std::string Noise(size_t size, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

}  // namespace ctxfs
