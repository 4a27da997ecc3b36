// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <lzma.h>
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

/// Raw deflate of `text`, without a header, or what zlib makes with other
/// `window_bits`.
inline std::string RawDeflate(std::string_view text, int level = 6,
                              int window_bits = -MAX_WBITS) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8,
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

/// One gzip member of `text`.
inline std::string Gzip(std::string_view text) {
  return RawDeflate(text, Z_BEST_COMPRESSION, 16 + MAX_WBITS);
}

/// One bzip2 stream of `text`.
inline std::string Bzip2(std::string_view text) {
  std::string input(text);
  std::string stored(text.size() + text.size() / 64 + 1000, '\0');
  auto size = static_cast<unsigned>(stored.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(stored.data(), &size, input.data(),
                                     static_cast<unsigned>(input.size()),
                                     /*blockSize100k=*/9, 0, 0),
            BZ_OK);
  stored.resize(size);
  return stored;
}

/// What an encoder that was made makes of `text`.
inline std::string RunLzma(lzma_stream& stream, std::string_view text) {
  std::string stored(text.size() + text.size() / 64 + 1000, '\0');
  stream.next_in = reinterpret_cast<const uint8_t*>(text.data());
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<uint8_t*>(stored.data());
  stream.avail_out = stored.size();
  EXPECT_EQ(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
  stored.resize(stored.size() - stream.avail_out);
  lzma_end(&stream);
  return stored;
}

/// One .xz stream of `text`, with a dictionary of 8 MiB.
inline std::string Xz(std::string_view text) {
  lzma_stream stream = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_easy_encoder(&stream, 6, LZMA_CHECK_CRC32), LZMA_OK);
  return RunLzma(stream, text);
}

/// LZMA of `text` as zipfile writes it: a header of 9 bytes, an end marker, and
/// a dictionary of 8 MiB.
inline std::string ZipLzma(std::string_view text) {
  lzma_options_lzma options;
  EXPECT_FALSE(lzma_lzma_preset(&options, 6));
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA1, &options},
                                 {LZMA_VLI_UNKNOWN, nullptr}};
  std::string header("\x09\x04\x05\0     ", 9);
  EXPECT_EQ(lzma_properties_encode(
                filters, reinterpret_cast<uint8_t*>(header.data() + 4)),
            LZMA_OK);
  lzma_stream stream = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_raw_encoder(&stream, filters), LZMA_OK);
  return header + RunLzma(stream, text);
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
