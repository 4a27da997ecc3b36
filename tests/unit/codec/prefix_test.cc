// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <string>

#include "core/codec/codec.h"

namespace ctxfs {
namespace {

std::string Sample() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * i % 1009) + " ";
  return text;
}

std::string Packed(Codec codec, const std::string& text) {
  std::string packed;
  if (codec == Codec::kZstd) {
    packed.resize(ZSTD_compressBound(text.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(),
                                text.size(), 3));
  } else {
    packed.resize(
        static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))));
    packed.resize(static_cast<size_t>(LZ4_compress_default(
        text.data(), packed.data(), static_cast<int>(text.size()),
        static_cast<int>(packed.size()))));
  }
  return packed;
}

class Prefix : public testing::TestWithParam<Codec> {};

TEST_P(Prefix, IsWhatTheWholeStartsWith) {
  const std::string text = Sample();
  const std::string packed = Packed(GetParam(), text);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{7}, size_t{100},
                           size_t{4096}, packed.size()}) {
    for (const size_t wanted : {size_t{0}, size_t{1}, size_t{20}, size_t{2044},
                                text.size(), text.size() + 9}) {
      std::string head(wanted, '?');
      const size_t n = DecodePrefix(
          GetParam(), AsBytes(packed).first(std::min(cut, packed.size())),
          std::as_writable_bytes(std::span(head)));
      ASSERT_LE(n, wanted);
      EXPECT_EQ(head.substr(0, n), text.substr(0, n));
      if (cut == packed.size()) {
        EXPECT_EQ(n, std::min(wanted, text.size()));
      }
    }
  }
}

TEST_P(Prefix, OfNonsenseIsShort) {
  const std::string nonsense(100, '\x05');
  std::string head(50, '?');
  EXPECT_LT(DecodePrefix(GetParam(), AsBytes(nonsense),
                         std::as_writable_bytes(std::span(head))),
            head.size());
}

INSTANTIATE_TEST_SUITE_P(Codecs, Prefix,
                         testing::Values(Codec::kZstd, Codec::kLz4));

}  // namespace
}  // namespace ctxfs
