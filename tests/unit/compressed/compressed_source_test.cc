// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/compressed_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <random>
#include <string>

#include "core/compressed/decoded_index.h"
#include "core/compressed/saved_index.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

constexpr size_t kLong = 4'000'000;

std::string XzOfOneBlock(std::string_view text) {
  lzma_stream stream = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_easy_encoder(&stream, 1, LZMA_CHECK_SHA256), LZMA_OK);
  return RunLzma(stream, text);
}

/// An .xz stream of blocks of 1 MiB.
std::string XzBlocks(std::string_view text) {
  lzma_mt options{};
  options.threads = 1;
  options.block_size = limits::kMiB;
  options.preset = 1;
  options.check = LZMA_CHECK_CRC64;
  lzma_stream stream = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_stream_encoder_mt(&stream, &options), LZMA_OK);
  return RunLzma(stream, text);
}

struct Packer {
  const char* name;
  Compression compression;
  std::function<std::string(std::string_view)> pack;

  friend std::ostream& operator<<(std::ostream& out, const Packer& packer) {
    return out << packer.name;
  }
};

/// `pack` of each part of the text, one after the other.
std::string InParts(const std::function<std::string(std::string_view)>& pack,
                    std::string_view text) {
  std::string all;
  for (size_t at = 0; at < text.size(); at += 1'300'000) {
    all += pack(text.substr(at, 1'300'000));
  }
  return all.empty() ? pack(text) : all;
}

const ZstdStyle kChecked = {.content_size = false, .content_checksum = true};

const Packer kPackers[] = {
    {"gzip", Compression::kGzip,
     [](std::string_view text) { return RawDeflate(text, 1, 16 + MAX_WBITS); }},
    {"gzip_stored", Compression::kGzip,
     [](std::string_view text) { return RawDeflate(text, 0, 16 + MAX_WBITS); }},
    {"gzip_members", Compression::kGzip,
     [](std::string_view text) {
       return InParts(
           [](std::string_view part) {
             return RawDeflate(part, 1, 16 + MAX_WBITS);
           },
           text);
     }},
    {"zstd", Compression::kZstd,
     [](std::string_view text) { return Zstd(text, kChecked); }},
    {"zstd_frames", Compression::kZstd,
     [](std::string_view text) {
       return InParts(
           [](std::string_view part) { return Zstd(part, kChecked); }, text);
     }},
    {"xz", Compression::kXz, &XzOfOneBlock},
    {"xz_blocks", Compression::kXz, &XzBlocks},
    {"xz_streams", Compression::kXz,
     [](std::string_view text) { return InParts(&XzBlocks, text); }},
    {"bzip2", Compression::kBzip2, &Bzip2},
    {"bzip2_streams", Compression::kBzip2,
     [](std::string_view text) { return InParts(&Bzip2, text); }},
};

SourcePtr Memory(std::string bytes) {
  return std::make_shared<const MemorySource>(std::move(bytes));
}

class Compressed : public testing::TestWithParam<Packer> {
 protected:
  Result<SourcePtr> Open(std::string bytes) {
    return OpenCompressed(Memory(std::move(bytes)), GetParam().compression,
                          nullptr, LoneContext());
  }
  std::string Pack(std::string_view text) { return GetParam().pack(text); }
};

std::string Window(const Source& source, uint64_t at, size_t size) {
  std::string bytes(size, '\0');
  EXPECT_TRUE(Ok(source.ReadAt(
      at, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()},
      Request())));
  return bytes;
}

TEST_P(Compressed, AnyWindowIsThatOfTheWhole) {
  const std::string text = Prose(kLong / 2) + Noise(kLong / 2);
  const std::string stored = Pack(text);
  EXPECT_EQ(CompressionOf(AsBytes(stored)), GetParam().compression);
  const auto source = Open(stored);
  ASSERT_TRUE(Ok(source));
  ASSERT_EQ((*source)->size(), text.size());
  EXPECT_EQ((*source)->stored_size(), stored.size());
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    const uint64_t at = random() % text.size();
    const size_t size = random() % std::min<size_t>(3000, text.size() - at);
    EXPECT_TRUE(Window(**source, at, size) == text.substr(at, size)) << at;
  }
  EXPECT_TRUE(Window(**source, 0, text.size()) == text);
  EXPECT_FALSE((*source)->ReadAt(text.size(), Buffer(1).span(), Request()));
}

TEST_P(Compressed, NothingDecodesToNothing) {
  const auto source = Open(Pack(""));
  ASSERT_TRUE(Ok(source));
  EXPECT_EQ((*source)->size(), 0U);
}

TEST_P(Compressed, TheHeadIsDecodedFromTheStart) {
  const std::string text = Prose(1'500'000);
  const std::string stored = Pack(text);
  Buffer head(4096);
  ASSERT_EQ(DecodeHead(AsBytes(stored).first(
                           std::min(stored.size(), kHeadOfCompressed)),
                       head.span()),
            head.size());
  EXPECT_EQ(AsText(head.span()), text.substr(0, head.size()));
}

TEST_P(Compressed, AFileThatIsCutOffIsRefused) {
  const std::string stored = Pack(Prose(50'000));
  for (const size_t left :
       {stored.size() - 1, stored.size() - 7, stored.size() / 2, size_t{11}}) {
    const auto source = Open(stored.substr(0, left));
    ASSERT_FALSE(source) << left;
    EXPECT_EQ(source.error().code, Code::kCorrupt) << source.error().Text();
    EXPECT_LE(source.error().offset, left);
  }
}

TEST_P(Compressed, BytesAfterTheEndAreRefusedAndAreTold) {
  const std::string stored = Pack(Prose(50'000));
  const auto source = Open(stored + "and more");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kCorrupt);
  EXPECT_GE(source.error().offset, stored.size()) << source.error().Text();
}

TEST_P(Compressed, AFlippedBitIsFoundWhenItIsOpened) {
  const std::string text = Noise(20'000);
  const std::string stored = Pack(text);
  std::mt19937 random(5);
  int opened = 0;
  for (int i = 0; i < 60; ++i) {
    std::string damaged = stored;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
    const auto source = Open(damaged);
    if (!source) continue;
    // A bit of a time stamp, or of a hint for the decoder.
    ++opened;
    EXPECT_TRUE(Window(**source, 0, text.size()) == text);
  }
  EXPECT_LT(opened, 10);
}

TEST_P(Compressed, ABombIsRefusedEarly) {
  // Of each byte at most 1,024 are made, and 16 MiB.
  const std::string stored = Pack(std::string(40'000'000, '\0'));
  const auto source = Open(stored);
  if (stored.size() * limits::kWorkFactor + limits::kWorkBytes > 40'000'000) {
    ASSERT_TRUE(Ok(source));
    return;
  }
  ASSERT_TRUE(Fails(source, Code::kLimit));
  EXPECT_NE(source.error().what.find(" -d' unpacks the file"),
            std::string::npos);
}

class Interrupted final : public Interrupt {
 public:
  explicit Interrupted(int calls) : left_(calls) {}
  bool interrupted() const override { return left_-- <= 0; }

 private:
  mutable int left_;
};

TEST_P(Compressed, OpeningCanBeInterrupted) {
  const Interrupted soon(4);
  BlockCache cache(limits::kMiB);
  EXPECT_TRUE(Fails(
      OpenCompressed(Memory(Pack(Prose(kLong / 2))), GetParam().compression,
                     nullptr, ReadContext(cache, soon)),
      Code::kInterrupted));
}

/// Decodes the rest of `text` from each place of an index for `use`.
void ExpectAllPlacesContinue(const SourcePtr& stored, Compression compression,
                             std::string_view text, PlaceUse use) {
  const auto index = IndexCompressed(stored, compression, kMaxDecoderMemory,
                                     Request(), nullptr, use);
  ASSERT_TRUE(Ok(index));
  for (const Place& place : (*index)->places) {
    const auto decoder = (*index)->DecoderAt(stored, place);
    Buffer rest(text.size() - place.decoded + 1);
    const auto made = decoder->Fill(rest.span(), Request());
    ASSERT_TRUE(Ok(made)) << place.decoded;
    EXPECT_TRUE(AsText(rest.span().first(*made)) == text.substr(place.decoded))
        << place.decoded;
  }
}

// Text that takes hardly any stored bytes ends right behind a place.
TEST_P(Compressed, DecodingGoesOnFromEveryPlace) {
  for (const size_t size : {8'400'000U, 8'650'752U, 8'388'609U}) {
    const std::string text(size, '\0');
    for (const PlaceUse use : {PlaceUse::kThisProcess, PlaceUse::kKept}) {
      ExpectAllPlacesContinue(Memory(Pack(text)), GetParam().compression, text,
                              use);
    }
  }
}

TEST_P(Compressed, ASavedIndexIsTheSame) {
  const std::string text = Prose(kLong);
  const SourcePtr stored = Memory(Pack(text));
  const auto index =
      IndexCompressed(stored, GetParam().compression, kMaxDecoderMemory,
                      Request(), nullptr, PlaceUse::kKept);
  ASSERT_TRUE(Ok(index));
  const auto saved = SaveIndex(**index);
  ASSERT_TRUE(Ok(saved));
  const auto load = [&](std::string_view bytes) {
    ByteReader in(AsBytes(bytes));
    return LoadIndex(in, *stored, GetParam().compression, Request());
  };
  const auto loaded = load(*saved);
  ASSERT_TRUE(Ok(loaded));
  const auto again = SaveIndex(**loaded);
  ASSERT_TRUE(Ok(again));
  EXPECT_TRUE(*again == *saved);
  const Place& last = (*loaded)->places.back();
  Buffer rest(text.size() - last.decoded);
  ASSERT_TRUE(
      Ok((*loaded)->DecoderAt(stored, last)->Fill(rest.span(), Request())));
  EXPECT_TRUE(AsText(rest.span()) == text.substr(last.decoded));

  for (size_t left = 0; left < saved->size(); left += 1 + left / 9) {
    EXPECT_TRUE(Fails(load(saved->substr(0, left)), Code::kCorrupt)) << left;
  }
}

TEST(SavedIndex, CountsAreNotBelieved) {
  const SourcePtr stored = Memory("stored");
  for (const size_t number : {1U, 2U, 4U, 5U}) {
    DecodedIndex index;
    index.compression = Compression::kGzip;
    index.places.emplace_back();
    std::string saved = *SaveIndex(index);
    StoreLe(UINT64_MAX, reinterpret_cast<std::byte*>(saved.data()) +
                            number * sizeof(uint64_t));
    ByteReader in(AsBytes(saved));
    EXPECT_TRUE(Fails(LoadIndex(in, *stored, Compression::kGzip, Request()),
                      Code::kCorrupt))
        << number;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Compressed, testing::ValuesIn(kPackers),
                         [](const auto& one) {
                           return std::string(one.param.name);
                         });

/// A source whose bytes change behind its back.
class Changing final : public Source {
 public:
  explicit Changing(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    std::copy_n(AsBytes(bytes_).subspan(offset).begin(), out.size(),
                out.begin());
    return {};
  }
  void Replace(std::string bytes) { bytes_ = std::move(bytes); }

 private:
  std::string bytes_;
};

TEST(CompressedSource, BytesThatChangeAfterTheirChecksumMatchedAreNotServed) {
  const auto changing = std::make_shared<Changing>(
      RawDeflate(Noise(5'000'000), 0, 16 + MAX_WBITS));
  BlockCache cache(limits::kMiB);  // keeps a few parts of the first pass
  const auto source =
      OpenCompressed(changing, Compression::kGzip, nullptr, ReadContext(cache));
  ASSERT_TRUE(Ok(source));
  changing->Replace(RawDeflate(Noise(5'000'000, 2), 0, 16 + MAX_WBITS));
  EXPECT_FALSE((*source)->ReadAt(0, Buffer(10).span(), Request()));
}

TEST(CompressedSource, PlacesAreFewAndLetReadersSkip) {
  const std::string text = Noise(20'000'000);
  const auto index =
      IndexCompressed(Memory(RawDeflate(text, 1, 16 + MAX_WBITS)),
                      Compression::kGzip, limits::kMiB, Request());
  ASSERT_TRUE(Ok(index));
  EXPECT_GE((*index)->places.size(), 4U);
  EXPECT_LE((*index)->places.size(), 5U);
  EXPECT_GT((*index)->PlaceBefore(19'000'000).decoded, 12'000'000U);
}

TEST(Places, AreThinnedOutWhenTheyTakeTooMuch) {
  Places places(1);
  const std::string state(32 * limits::kKiB, 'w');
  for (uint64_t at = 0; at < 5000; ++at) {
    if (!places.Wants(at)) continue;
    ASSERT_TRUE(Ok(places.Add({at, at, state})));
  }
  const std::vector<Place> kept = places.Take();
  EXPECT_LE(kept.size(), 1025U);
  EXPECT_GE(kept.size(), 500U);
  EXPECT_EQ(kept.front().decoded, 0U);
  EXPECT_GE(kept.back().decoded, 4980U);
}

// A block says in 16 bits for each 16 bytes which of them it has. Texts of
// these bytes have the magic number of a block there.
TEST(CompressedSource, AMagicNumberWithinABlockIsData) {
  std::string bytes;
  for (const unsigned group : {0U, 1U, 2U}) {
    constexpr unsigned kUsed[] = {0x3141, 0x5926, 0x5359};
    for (unsigned bit = 0; bit < 16; ++bit) {
      if ((kUsed[group] >> (15 - bit) & 1U) != 0) {
        bytes += static_cast<char>(group * 16 + bit);
      }
    }
  }
  std::mt19937 random(1);
  std::string text = bytes;
  while (text.size() < 2'500'000) text += bytes[random() % bytes.size()];
  const auto source = OpenCompressed(Memory(Bzip2(text)), Compression::kBzip2,
                                     nullptr, LoneContext());
  ASSERT_TRUE(Ok(source));
  EXPECT_TRUE(Window(**source, 0, text.size()) == text);
  EXPECT_TRUE(Window(**source, 2'000'000, 100) == text.substr(2'000'000, 100));
}

TEST(CompressedSource, ManyMagicNumbersWithinABlockAreDamage) {
  std::string stored("BZh9\x31\x41\x59\x26\x53\x59\0\0\0\0", 14);
  for (int i = 0; i < 100'000; ++i) stored += "\x17\x72\x45\x38\x50\x90";
  const auto source = OpenCompressed(Memory(stored), Compression::kBzip2,
                                     nullptr, LoneContext());
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kCorrupt);
  EXPECT_EQ(source.error().what, "bzip2: the data of a block is damaged");
}

TEST(Compression, NamesLoseTheSuffix) {
  const auto plain = [](std::string_view name) {
    const PlainName found = WithoutCompression(name);
    return std::string(found.stem) + std::string(found.suffix);
  };
  EXPECT_EQ(plain("a.tar.gz"), "a.tar");
  EXPECT_EQ(plain("a.tgz"), "a.tar");
  EXPECT_EQ(plain("model.safetensors.zst"), "model.safetensors");
  EXPECT_EQ(plain("a.tbz2"), "a.tar");
  EXPECT_EQ(plain("a.tar"), "");
  EXPECT_EQ(plain(".gz"), "");
}

}  // namespace
}  // namespace ctxfs
