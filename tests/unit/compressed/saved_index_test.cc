// SPDX-License-Identifier: Apache-2.0
//
// Indexes that another process has kept, and that somebody may have forged.
#include "core/compressed/saved_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "core/compressed/compressed_source.h"
#include "core/compressed/decoder.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// Letters whose bits are no whole bytes, in blocks of all lengths.
std::string Letters(size_t size) {
  std::mt19937 random(41);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('a' + random() % 11);
  return text;
}

constexpr size_t kPackedLetters = 9'000'000;

/// A .gz file of as many letters, which is packed once.
SourcePtr PackedLetters() {
  static const SourcePtr packed = std::make_shared<const MemorySource>(
      RawDeflate(Letters(kPackedLetters), 1, 16 + MAX_WBITS));
  return packed;
}

std::shared_ptr<const DecodedIndex> IndexOf(const SourcePtr& stored,
                                            Compression compression,
                                            PlaceUse use = PlaceUse::kKept) {
  const auto index = IndexCompressed(stored, compression, kMaxDecoderMemory,
                                     Request(), nullptr, use);
  EXPECT_TRUE(Ok(index));
  return index ? *index : nullptr;
}

Result<std::shared_ptr<const DecodedIndex>> Load(const std::string& saved,
                                                 const Source& stored,
                                                 Compression compression) {
  ByteReader in(AsBytes(saved));
  return LoadIndex(in, stored, compression, Request());
}

class GzipLevels : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(All, GzipLevels, testing::Values(0, 1, 6, 9));

TEST_P(GzipLevels, Item41_12_PlacesAreBlocksAndTheBytesBefore) {
  const std::string text = Letters(10'000'000);
  const SourcePtr stored = std::make_shared<const MemorySource>(
      RawDeflate(text, GetParam(), 16 + MAX_WBITS));
  const auto index = IndexOf(stored, Compression::kGzip);
  ASSERT_NE(index, nullptr);
  EXPECT_GE(index->places.size(), 3U);
  const auto saved = SaveIndex(*index);
  ASSERT_TRUE(Ok(saved));
  EXPECT_LT(saved->size(), index->places.size() * (size_t{33} << 10) + 1000);
  const auto loaded = Load(*saved, *stored, Compression::kGzip);
  ASSERT_TRUE(Ok(loaded));
  for (const Place& place : (*loaded)->places) {
    Buffer some(std::min<size_t>(500'000, text.size() - place.decoded));
    const auto decoder = (*loaded)->DecoderAt(stored, place);
    ASSERT_TRUE(Ok(decoder->Fill(some.span(), Request())));
    EXPECT_TRUE(AsText(some.span()) == text.substr(place.decoded, some.size()))
        << place.decoded;
  }
}

TEST(SavedIndex, Item41_12_TheMemoryOfADecoderIsNotSaved) {
  const SourcePtr stored = PackedLetters();
  const auto index =
      IndexOf(stored, Compression::kGzip, PlaceUse::kThisProcess);
  ASSERT_NE(index, nullptr);
  EXPECT_TRUE(Fails(SaveIndex(*index), Code::kUnsupported));
}

/// Changes an index at random. What it still has is decoded, or refused.
TEST(SavedIndex, Item41_12_ForgedPlacesDecodeToNothingElse) {
  const std::string text = Letters(kPackedLetters);
  const SourcePtr stored =
      std::make_shared<const MemorySource>(RawDeflate(text, 6, 16 + MAX_WBITS));
  const auto index = IndexOf(stored, Compression::kGzip);
  ASSERT_NE(index, nullptr);
  std::mt19937 random(12);
  for (int round = 0; round < 60; ++round) {
    DecodedIndex forged = *index;
    Place& place = forged.places.back();
    if (round % 3 == 0) place.stored_bits += random() % 4000;
    if (round % 3 == 1) place.decoded -= random() % 100;
    if (round % 3 == 2) {
      const std::string noise = Noise(32 << 10);
      place.state = Zstd(std::string_view(noise).substr(random() % 30'000));
    }
    BlockCache cache(64 << 20);
    const auto loaded = Load(*SaveIndex(forged), *stored, Compression::kGzip);
    if (!loaded) continue;
    const CompressedSource source(
        stored, *loaded, std::make_unique<OpeningReads>(), NewOwner(), cache);
    for (const size_t at : {8'700'000U, 8'400'000U}) {
      std::string bytes(1000, '\0');
      const Status read = source.ReadAt(
          at, std::as_writable_bytes(std::span(bytes.data(), bytes.size())),
          Request());
      EXPECT_TRUE(!read || bytes == text.substr(at, bytes.size())) << round;
    }
  }
}

TEST(SavedIndex, Item41_12_ImpossiblePlacesAreRefused) {
  const SourcePtr stored = PackedLetters();
  const auto index = IndexOf(stored, Compression::kGzip);
  ASSERT_NE(index, nullptr);
  ASSERT_GE(index->places.size(), 2U);
  using Forge = void (*)(Place&);
  const Forge forges[] = {
      [](Place& place) { place.state = Zstd(std::string(33 << 10, 'x')); },
      [](Place& place) { place.state = "no zstd"; },
      [](Place& place) { place.stored_bits = 0; },
      [](Place& place) { place.stored_bits = UINT64_MAX; },
      [](Place& place) { place.decoded = 0; },
      [](Place& place) { place.decoded = UINT64_MAX; }};
  for (const Forge forge : forges) {
    DecodedIndex forged = *index;
    forge(forged.places.back());
    EXPECT_TRUE(Fails(Load(*SaveIndex(forged), *stored, Compression::kGzip),
                      Code::kCorrupt));
  }
}

TEST(SavedIndex, Item41_12_PlacesOfOtherCompressionsAreStartsOfTheirParts) {
  const std::string text = Letters(3'000'000);
  struct Packed {
    Compression compression;
    std::string bytes;
  };
  std::string frames;
  for (size_t at = 0; at < text.size(); at += 1'000'000) {
    frames += Zstd(std::string_view(text).substr(at, 1'000'000));
  }
  lzma_mt options{};
  options.threads = 1;
  options.block_size = 1'100'000;
  options.check = LZMA_CHECK_CRC32;
  lzma_stream xz = LZMA_STREAM_INIT;
  ASSERT_EQ(lzma_stream_encoder_mt(&xz, &options), LZMA_OK);
  const Packed all[] = {{Compression::kZstd, frames},
                        {Compression::kXz, RunLzma(xz, text)},
                        {Compression::kBzip2, Bzip2(text)}};
  for (const auto& [compression, bytes] : all) {
    const SourcePtr stored = std::make_shared<const MemorySource>(bytes);
    const auto index = IndexOf(stored, compression);
    ASSERT_NE(index, nullptr);
    ASSERT_GE(index->places.size(), 2U);
    for (const uint64_t bits : {1U, 8U, 800U}) {
      DecodedIndex forged = *index;
      forged.places.back().stored_bits += bits;
      const auto loaded = Load(*SaveIndex(forged), *stored, compression);
      if (!loaded) continue;
      Buffer rest(1000);
      EXPECT_FALSE((*loaded)
                       ->DecoderAt(stored, (*loaded)->places.back())
                       ->Fill(rest.span(), Request()))
          << CompressionName(compression) << ' ' << bits;
    }
    DecodedIndex with_state = *index;
    with_state.places.back().state = "state";
    with_state.places.back().at_block = true;
    EXPECT_TRUE(Fails(Load(*SaveIndex(with_state), *stored, compression),
                      Code::kCorrupt));
  }
}

}  // namespace
}  // namespace ctxfs
