// SPDX-License-Identifier: Apache-2.0
//
// Stores of Zarr that no golden folder has: fill values to the bit, filters,
// windows, links, and hostile metadata.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/text/text.h"
#include "core/codec/blosc.h"
#include "core/codec/checksum.h"
#include "core/container/format.h"
#include "core/formats/zarr/array_plan.h"
#include "core/formats/zarr/chain.h"
#include "core/formats/zarr/store.h"
#include "core/io/directory.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/mem8_builder.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::zarr {
namespace {

std::string FillHex(const char* type, const Json& value) {
  const Result<ElementType> known = TypeOfV3(type);
  if (!known) return known.error().what;
  const Result<std::string> fill = FillElement(*known, value);
  return fill ? Hex(*fill) : fill.error().what;
}

Json V3(Json changes = Json::object()) {
  Json root = {{"zarr_format", 3},
               {"node_type", "array"},
               {"shape", Json::array({4})},
               {"data_type", "int8"},
               {"chunk_grid",
                {{"name", "regular"},
                 {"configuration", {{"chunk_shape", Json::array({2})}}}}},
               {"chunk_key_encoding", {{"name", "default"}}},
               {"fill_value", 0},
               {"codecs", Json::array({{{"name", "bytes"}}})}};
  root.update(changes);
  return Json::parse(root.dump());  // numbers as a file has them
}

/// A store in a directory of its own.
class ZarrStore : public ::testing::Test {
 protected:
  void Write(const std::string& path, std::string_view bytes) {
    const auto whole = std::filesystem::path(dir_.Path(path));
    std::filesystem::create_directories(whole.parent_path());
    dir_.Write(path, bytes);
  }
  Result<std::shared_ptr<const Container>> Open(const std::string& path = "") {
    return OpenContainer(*OpenSource(dir_.Path(path)), {});
  }
  /// The bytes of an entry, or the text of its error.
  static std::string Bytes(const Container& store, uint32_t entry) {
    const Result<Content> content = OpenEntry(store, entry);
    if (!content) return content.error().what;
    const Result<std::string> bytes = ReadAll(*content, LoneContext());
    return bytes ? *bytes : bytes.error().what;
  }

  const TempDir dir_;
};

TEST(ZarrFill, NumbersAreExactToTheBit) {
  EXPECT_EQ(FillHex("int64", -9007199254740993), "ffffffffffffdfff");
  EXPECT_EQ(FillHex("uint64", UINT64_MAX), "ffffffffffffffff");
  EXPECT_EQ(FillHex("int8", -128), "80");
  EXPECT_EQ(FillHex("float16", 65504), "ff7b");
  EXPECT_EQ(FillHex("float16", 6e-8), "0100");
  EXPECT_EQ(FillHex("float16", 0), "0000");
  EXPECT_EQ(FillHex("float16", 1e300), "007c");
  EXPECT_EQ(FillHex("bfloat16", 1.0), "803f");
  EXPECT_EQ(FillHex("float32", "0x7fc00123"), "2301c07f");
  EXPECT_EQ(FillHex("float64", "-Infinity"), "000000000000f0ff");
  EXPECT_EQ(FillHex("complex64", Json({1.0, "NaN"})), "0000803f0000c07f");
}

TEST(ZarrFill, WhatDoesNotFitIsRefused) {
  for (const auto& [type, value] : {std::pair<const char*, Json>{"int8", 128},
                                    {"int8", -129},
                                    {"uint8", -1},
                                    {"bool", 2},
                                    {"int32", 0.5},
                                    {"float32", "0x7fc0"},
                                    {"float32", "nan"},
                                    {"int64", 1e30},
                                    {"uint16", "1"}}) {
    EXPECT_EQ(FillHex(type, value).substr(0, 10), "fill_value") << type;
  }
}

TEST(ZarrPlan, FaultsNameTheirPart) {
  const auto what = [](const Json& changes) {
    const Result<ArrayPlan> plan = PlanOfV3(V3(changes));
    return plan ? "" : plan.error().what.substr(0, plan.error().what.find(':'));
  };
  EXPECT_EQ(what(Json::object()), "");
  EXPECT_EQ(what({{"shape", Json::array({4, 4})}}), "rank");
  EXPECT_EQ(what({{"shape", Json::array({-1})}}), "shape");
  EXPECT_EQ(what({{"shape", Json::array({uint64_t{1} << 63})}}), "shape");
  EXPECT_EQ(what({{"shape", Json::array({INT64_MAX})}, {"data_type", "int16"}}),
            "overflow");
  EXPECT_EQ(what({{"codecs", Json::array()}}), "codecs");
  EXPECT_EQ(what({{"codecs", Json::array({"bytes", "bytes"})}}), "codecs");
  EXPECT_EQ(what({{"codecs", Json::array({"zstd", "bytes"})}}), "codecs");
  EXPECT_EQ(what({{"fill_value", 200}}), "fill_value");
}

TEST(ZarrPlan, UnknownPartsAreNoDamage) {
  for (const Json& changes :
       {Json{{"data_type", "int4"}},
        Json{{"codecs", Json::array({"bytes", "zfpy"})}},
        Json{{"extension", {{"name", "x"}}}},
        Json{{"chunk_grid", {{"name", "rectangular"}}}}}) {
    EXPECT_TRUE(Fails(PlanOfV3(V3(changes)), Code::kUnsupported)) << changes;
  }
  EXPECT_TRUE(Ok(PlanOfV3(V3({{"hint", {{"must_understand", false}}}}))));
}

TEST(ZarrPlan, ShardsEndAtTwoLevels) {
  Json codecs = Json::array({"bytes"});
  for (int level = 0; level < 3; ++level) {
    codecs = Json::array({{{"name", "sharding_indexed"},
                           {"configuration",
                            {{"chunk_shape", Json::array({2})},
                             {"codecs", codecs},
                             {"index_codecs", Json::array({"bytes"})}}}}});
    const Result<ArrayPlan> plan = PlanOfV3(V3({{"codecs", codecs}}));
    EXPECT_TRUE(level < 2 ? Ok(plan) : Fails(plan, Code::kLimit)) << level;
  }
}

TEST(ZarrPlan, Item45_5_FiltersOfAHugeChunkAreRefused) {
  const Json wider = {
      {"name", "numcodecs.astype"},
      {"configuration", {{"encode_dtype", "<f8"}, {"decode_dtype", "|i1"}}}};
  const Json delta = {{"name", "numcodecs.delta"},
                      {"configuration", {{"dtype", "<f8"}}}};
  Json root = V3({{"codecs", Json::array({wider, delta, "bytes"})}});
  root["chunk_grid"]["configuration"]["chunk_shape"] =
      Json::array({uint64_t{1} << 62});
  EXPECT_TRUE(Fails(PlanOfV3(root), Code::kLimit));
}

TEST(ZarrMetadata, AttributesAreFoundAndNotBuilt) {
  const std::string text = R"({"a": 1, "attributes": {"x": [NaN]}, "b": 2})";
  const Result<MetadataText> read = ReadMetadata(text, Request());
  ASSERT_TRUE(Ok(read));
  EXPECT_EQ(read->root, Json({{"a", 1}, {"b", 2}}));
  EXPECT_EQ(read->attributes.In(text), R"({"x": [NaN]})");
  EXPECT_TRUE(
      Fails(ReadMetadata(std::string(100, '['), Request()), Code::kLimit));
  EXPECT_TRUE(Fails(ReadMetadata("{} x", Request()), Code::kCorrupt));
}

TEST(ZarrCodecs, FletcherIsThatOfHdf5) {
  EXPECT_EQ(Fletcher32(AsBytes("abcde")), 0x4FF029C7U);
  EXPECT_EQ(Fletcher32(AsBytes("abcdef")), 0x50562A2DU);
}

TEST(ZarrCodecs, ABloscBufferOfSnappyIsDecoded) {
  // "abc", and a copy of 8 bytes from 3 back.
  const std::string stream = std::string("\x0B\x08") + "abc" + "\x11\x03";
  const std::string stored = LeBytes()
                                 .U8(2)
                                 .U8(1)
                                 .U8(2 << 5 | 16)
                                 .U8(1)
                                 .U32(11)
                                 .U32(11)
                                 .U32(24 + 7)
                                 .U32(20)
                                 .U32(7)
                                 .Raw(stream)
                                 .bytes();
  std::string out(11, '\0');
  ASSERT_TRUE(
      Ok(DecodeBlosc(AsBytes(stored), std::as_writable_bytes(std::span(out)))));
  EXPECT_EQ(out, "abcabcabcab");
}

TEST(ZarrCodecs, ABloscBufferOfBloscLzIsDecoded) {
  // 16 literals of "ab", and a match of 14 bytes, 2 before.
  const std::string stream =
      LeBytes().U8(1).Raw("ab").bytes() + std::string("\xE0\x05\x01", 3);
  const std::string block =
      LeBytes().U32(static_cast<uint32_t>(stream.size())).Raw(stream).bytes();
  const auto buffer = [&](uint32_t decoded) {
    return LeBytes()
        .U8(2)
        .U8(1)
        .U8(16)
        .U8(1)
        .U32(decoded)
        .U32(decoded)
        .U32(static_cast<uint32_t>(20 + block.size()))
        .U32(20)
        .Raw(block)
        .bytes();
  };
  std::string out(16, '\0');
  const std::string stored = buffer(16);
  ASSERT_TRUE(
      Ok(DecodeBlosc(AsBytes(stored), std::as_writable_bytes(std::span(out)))));
  EXPECT_EQ(out, "abababababababab");
  std::string longer(17, '\0');
  EXPECT_TRUE(Fails(DecodeBlosc(AsBytes(buffer(17)),
                                std::as_writable_bytes(std::span(longer))),
                    Code::kCorrupt));
  EXPECT_TRUE(Fails(DecodeBlosc(AsBytes(stored.substr(0, 19)),
                                std::as_writable_bytes(std::span(out))),
                    Code::kCorrupt));
}

TEST_F(ZarrStore, EveryWindowIsThatOfTheWhole) {
  Json root =
      V3({{"shape", {5, 3, 4}}, {"data_type", "int16"}, {"fill_value", 770}});
  root["chunk_grid"]["configuration"]["chunk_shape"] = {2, 2, 3};
  root["codecs"] = {
      {{"name", "bytes"}, {"configuration", {{"endian", "big"}}}}};
  Write("zarr.json", root.dump());
  std::string whole;
  for (int i = 0; i < 60; ++i) AppendLe<int16_t>(770, whole);
  // Two of the 3 * 2 * 2 chunks are there.
  for (const auto& [key, z, y, x] :
       {std::tuple{"c/0/0/0", 0, 0, 0}, std::tuple{"c/1/1/1", 2, 2, 3}}) {
    std::string chunk;
    for (int i = 0; i < 12; ++i) {
      const int at[] = {z + i / 6, y + i / 3 % 2, x + i % 3};
      const auto value = static_cast<int16_t>(1000 + i);
      chunk += static_cast<char>(value >> 8);
      chunk += static_cast<char>(value & 0xFF);
      if (at[0] >= 5 || at[1] >= 3 || at[2] >= 4) continue;
      const auto element = static_cast<size_t>((at[0] * 3 + at[1]) * 4 + at[2]);
      StoreLe(value, reinterpret_cast<std::byte*>(whole.data() + 2 * element));
    }
    Write(key, chunk);
  }
  const auto store = Open();
  ASSERT_TRUE(Ok(store));
  const Result<Content> content = OpenEntry(**store, 0);
  ASSERT_TRUE(Ok(content));
  for (size_t begin = 0; begin <= whole.size(); ++begin) {
    for (size_t end = begin; end <= whole.size(); ++end) {
      std::string part(end - begin, '\0');
      ASSERT_TRUE(
          Ok(ReadInto(*content, begin, std::as_writable_bytes(std::span(part)),
                      LoneContext())));
      ASSERT_EQ(part, whole.substr(begin, end - begin)) << begin;
    }
  }
}

TEST_F(ZarrStore, LinksToDirectoriesAreNotEntered) {
  Write("zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  Write("a/zarr.json", V3().dump());
  std::filesystem::create_directory_symlink(".", dir_.Path("again"));
  const auto store = Open();
  ASSERT_TRUE(Ok(store));
  ASSERT_EQ(EntryCount(**store), 1U);
  EXPECT_EQ(EntryPath(**store, 0), "a");
}

TEST_F(ZarrStore, AChunkThatIsALinkOutOfTheStoreIsNotRead) {
  Write("in/zarr.json", V3().dump());
  Write("secret", "xy");
  Write("in/c/1", "ab");
  std::filesystem::create_symlink("../../secret", dir_.Path("in/c/0"));
  const auto store = Open("in");
  ASSERT_TRUE(Ok(store));
  EXPECT_EQ(Bytes(**store, 0), "chunk 'c/0': leads out of the directory");
}

TEST_F(ZarrStore, AMetadataFileStandsForItsDirectory) {
  Write("zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  Write("a/b/zarr.json", V3().dump());
  Write("a/zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  Write("a/b/c/1", "xy");
  const auto store = Open("zarr.json");
  ASSERT_TRUE(Ok(store));
  ASSERT_EQ(EntryCount(**store), 2U);
  EXPECT_EQ(EntryPath(**store, 1), "a/b");
  EXPECT_EQ(Bytes(**store, 1), std::string("\0\0xy", 4));
}

TEST_F(ZarrStore, ASeparatorThatIsNotSaidIsGuessed) {
  Write(".zarray", R"({"zarr_format": 2, "shape": [2, 1], "chunks": [1, 1],
                       "dtype": "|u1", "fill_value": 0, "order": "C",
                       "compressor": null, "filters": null})");
  Write("0/0", "a");
  Write("1/0", "b");
  const auto store = Open();
  ASSERT_TRUE(Ok(store));
  EXPECT_EQ(Bytes(**store, 0), "ab");
  ASSERT_EQ((*store)->warnings().size(), 1U);
  EXPECT_EQ((*store)->warnings()[0].text.substr(0, 9), "separator");
}

TEST_F(ZarrStore, SizesAreJustifiedByChunks) {
  // 65 GiB of fill value need 1 MiB of chunks.
  Json root = V3({{"shape", Json::array({uint64_t{65} << 30})}});
  root["chunk_grid"]["configuration"]["chunk_shape"] =
      Json::array({uint64_t{1} << 20});
  Write("zarr.json", root.dump());
  EXPECT_EQ(EntrySize(**Open(), 0), 0U);
  EXPECT_EQ((*Open())->warnings().size(), 1U);
  Write("c/0", std::string(1 << 20, 'x'));
  EXPECT_EQ(EntrySize(**Open(), 0), uint64_t{65} << 30);
  EXPECT_TRUE((*Open())->warnings().empty());
}

TEST_F(ZarrStore, ManySmallChunksAreJustified) {
  // 32 GiB of fill value in 2^31 chunks, each of which would be looked for.
  Json root = V3({{"shape", Json::array({uint64_t{1} << 35})}});
  root["chunk_grid"]["configuration"]["chunk_shape"] = Json::array({16});
  Write("zarr.json", root.dump());
  EXPECT_EQ(EntrySize(**Open(), 0), 0U);
}

// The file of chunk 0 is closed when it is replaced, and its bytes are cached.
TEST_F(ZarrStore, Item45_1_AChunkThatWasReplacedIsStale) {
  constexpr int kChunks = 600;
  Json root = V3({{"shape", Json::array({kChunks})}});
  root["chunk_grid"]["configuration"]["chunk_shape"] = Json::array({1});
  Write("zarr.json", root.dump());
  for (int i = 0; i < kChunks; ++i) Write("c/" + std::to_string(i), "a");
  const auto store = Open();
  ASSERT_TRUE(Ok(store));
  const Result<Content> content = OpenEntry(**store, 0);
  ASSERT_TRUE(Ok(content));
  BlockCache cache(uint64_t{1} << 20);
  EXPECT_EQ(*ReadAll(*content, cache), std::string(kChunks, 'a'));
  Write("new", "b");
  std::filesystem::rename(dir_.Path("new"), dir_.Path("c/0"));
  EXPECT_TRUE(Fails(ReadAll(*content, cache), Code::kStale));
}

TEST_F(ZarrStore, Item45_2_AFillValueTakesNoMoreThanItsText) {
  Write(".zarray", R"({"zarr_format": 2, "shape": [1], "chunks": [1],
                       "dtype": "|S1000000000", "fill_value": "ab",
                       "order": "C", "compressor": null, "filters": null})");
  const auto store = Open();
  ASSERT_TRUE(Ok(store));
  EXPECT_EQ(EntrySize(**store, 0), 1'000'000'000U);
  const Result<Content> content = OpenEntry(**store, 0);
  ASSERT_TRUE(Ok(content));
  std::string start(4, 'x');
  ASSERT_TRUE(Ok(ReadInto(*content, 0, std::as_writable_bytes(std::span(start)),
                          LoneContext())));
  EXPECT_EQ(start, std::string("ab\0\0", 4));
}

TEST_F(ZarrStore, Item45_3_AGuessedSeparatorIsThatOfEveryArray) {
  constexpr int kArrays = 300;  // more than have their metadata kept
  Write(".zgroup", R"({"zarr_format": 2})");
  for (int i = 0; i < kArrays; ++i) {
    const std::string path = std::to_string(1000 + i);
    Write(path + "/.zarray", R"({"zarr_format": 2, "shape": [1, 1],
        "chunks": [1, 1], "dtype": "|u1", "fill_value": 0, "order": "C",
        "compressor": null, "filters": null})");
    Write(path + "/0/0", "a");
  }
  const auto store = Open();
  ASSERT_TRUE(Ok(store));
  for (uint32_t i = 0; i < kArrays; ++i) {
    ASSERT_EQ(Bytes(**store, i), "a") << i;
  }
}

TEST_F(ZarrStore, Item45_4_ArraysWhoseChunksAreOver2To64AreNotJustified) {
  Write("zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  Json root = V3({{"shape", Json::array({uint64_t{1} << 62})}});
  root["chunk_grid"]["configuration"]["chunk_shape"] = Json::array({1});
  Write("a/zarr.json", root.dump());
  Write("b/zarr.json", root.dump());
  const auto store = Open();
  ASSERT_TRUE(Ok(store));
  EXPECT_EQ(EntrySize(**store, 0), 0U);
  EXPECT_EQ(EntrySize(**store, 1), 0U);
}

TEST_F(ZarrStore, ADirectoryBelowAStoreIsFoundBySourcesOnly) {
  Write("zarr.json", V3().dump());
  EXPECT_EQ(FormatOfDirectory(**OpenSource(dir_.Path("")))->name, "zarr");
  Write("plain/x", "");
  EXPECT_EQ(FormatOfDirectory(**OpenSource(dir_.Path("plain"))), nullptr);
}

TEST_F(ZarrStore, VersionOneIsNamed) {
  Write("meta", R"({"zarr_format": 1, "shape": [1]})");
  EXPECT_TRUE(Fails(Open(), Code::kVersion));
}

}  // namespace
}  // namespace ctxfs::zarr
