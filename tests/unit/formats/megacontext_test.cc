// SPDX-License-Identifier: Apache-2.0
//
// .ctx headers and metadata that no golden tree has.
#include <gtest/gtest.h>

#include <tuple>

#include "core/container/format.h"
#include "core/formats/megacontext/level.h"
#include "core/formats/megacontext/metadata.h"
#include "core/io/directory.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/mem8_builder.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::megacontext {
namespace {

struct Header {
  uint32_t magic = 0x4D434354;
  uint16_t version = 1;
  uint16_t level = 1;
  uint16_t block = 32;
  uint16_t dim = 4;
  uint16_t dtype = 1;
  uint64_t count = 0;
  std::string name = "m";

  std::string Start() const {
    return LeBytes()
        .U32(magic)
        .U16(version)
        .U16(level)
        .U16(block)
        .U16(dim)
        .U16(dtype)
        .bytes();
  }
  /// With `payload` bytes after it.
  std::string A(size_t payload) const {
    std::string bytes = LeBytes().Raw(Start()).U64(count).Raw(name).bytes();
    bytes.resize(64);
    return bytes + std::string(payload, 'p');
  }
  std::string B(size_t payload) const {
    std::string bytes = Start() + name;
    bytes.resize(64);
    return bytes + std::string(payload, 'p');
  }
};

ContextLevel Level(std::string bytes, uint32_t number = 1) {
  return ReadContextLevel("LOD" + std::to_string(number) + ".ctx", number,
                          std::shared_ptr<const Source>(
                              std::make_shared<MemorySource>(std::move(bytes))),
                          Request());
}

TEST(ContextLevel, LayoutsAreToldApartByTheCount) {
  Header header;
  header.count = 3;
  EXPECT_EQ(Level(header.A(24)).header.layout, 'A');
  header.name = "gpt2";
  const ContextLevel b = Level(header.B(24));
  EXPECT_EQ(b.header.layout, 'B');
  EXPECT_EQ(b.entries, 3U);
  EXPECT_EQ(b.header.model_name, "gpt2");
  EXPECT_FALSE(b.odd);
  // A name of all 32 bytes, and one that is followed by anything but zeros.
  header.name = std::string(32, 'n');
  EXPECT_EQ(Level(header.B(24)).header.layout, 'B');
  header.name = std::string("gpt2\0x", 6);
  const ContextLevel odd = Level(header.B(24));
  EXPECT_EQ(odd.header.layout, 'A');
  EXPECT_EQ(odd.entries, 3U) << "what is there";
}

TEST(ContextLevel, ServesTheStoredBytesWhateverTheHeaderSays) {
  Header header;
  header.count = UINT64_MAX;
  EXPECT_EQ(Level(header.A(25)).entries, 3U);
  EXPECT_EQ(Level(header.A(25)).tail, 1U);
  header.count = 2;
  EXPECT_EQ(Level(header.A(25)).entries, 2U);
  EXPECT_EQ(Level(header.A(25)).tail, 9U);
  header.count = 0;
  EXPECT_EQ(Level(header.A(25)).entries, 3U);
  EXPECT_EQ(Level(header.A(0)).entries, 0U);
  EXPECT_FALSE(Level(header.A(0)).odd);
}

TEST(ContextLevel, WhatCannotBeServedIsAFault) {
  Header header;
  const auto fault = [&header](size_t payload = 24) {
    const ContextLevel level = Level(header.A(payload));
    return level.fault ? level.fault->what : "";
  };
  EXPECT_EQ(fault(), "");
  header.dtype = 4;
  EXPECT_EQ(fault(), "unknown dtype 4");
  header = {};
  header.dim = 0;
  EXPECT_EQ(fault(), "embedding_dim 0");
  header = {};
  header.magic = 0x5443434D;  // the letters, and so "MCCT"
  EXPECT_EQ(fault(), "");
  header.version = 0x0100;
  EXPECT_EQ(fault(), "big-endian header");
  header = {};
  header.magic = 1;
  EXPECT_EQ(fault(), "bad magic");
  EXPECT_EQ(Level(Header().A(0).substr(0, 63)).fault->what,
            "shorter than the 64-byte header");
}

TEST(ContextLevel, AHeaderThatWasNotPackedIsRefused) {
  const Header header;
  std::string bytes = LeBytes().Raw(header.Start()).U16(0).U64(3).bytes();
  bytes.resize(72);
  EXPECT_EQ(Level(bytes + std::string(24, 'p')).fault->what,
            "aligned (unpacked) header");
}

TEST(ContextLevel, BlocksAreOfTokensOnly) {
  Header header;
  header.level = 0;
  header.dtype = 0;
  header.count = 33;
  const ContextLevel tokens = Level(header.A(33 * 4), 0);
  EXPECT_EQ(tokens.Blocks(), 2U);
  EXPECT_EQ(tokens.ToJson()["last_block_tokens"], 1);
  header.block = 0;
  EXPECT_EQ(Level(header.A(33 * 4), 0).Blocks(), 0U);
  header.dtype = 1;
  header.block = 32;
  EXPECT_EQ(Level(header.A(33 * 8), 0).Blocks(), 0U);
}

TEST(ContextLevel, FileNames) {
  EXPECT_EQ(ContextLevelNumber("LOD0.ctx"), 0U);
  EXPECT_EQ(ContextLevelNumber("L12.ctx"), 12U);
  for (const char* name :
       {"LOD.ctx", "L.ctx", "LO1.ctx", "LOD1", "lod1.ctx", "LOD-1.ctx",
        "LOD1.ctx.tmp", "XLOD1.ctx", "LOD123456.ctx", ".ctx", "L"}) {
    EXPECT_EQ(ContextLevelNumber(name), std::nullopt) << name;
  }
}

std::vector<std::string> Compare(const std::string& text) {
  Header header;
  header.level = 0;
  header.dtype = 0;
  header.dim = 0;
  header.count = 2;
  header.name = "Instr";
  const std::vector<ContextLevel> levels = {Level(header.A(8), 0)};
  return CompareMetadata(text, levels, Request());
}

using Texts = std::vector<std::string>;

TEST(ContextMetadata, HostileOnesAreWarnings) {
  EXPECT_EQ(Compare(""), Texts{"metadata.json is not JSON"});
  EXPECT_EQ(Compare("{} x"), Texts{"metadata.json is not JSON"});
  EXPECT_EQ(Compare("7"), Texts{"metadata.json is not an object"});
  EXPECT_EQ(Compare(std::string(1000, '[')),
            Texts{"metadata.json is not JSON"});
  EXPECT_EQ(Compare(R"({"levels": 3, "version": "1", "model_name": [],
                        "embedding_dim": true, "block_size": null})"),
            Texts{});
  EXPECT_EQ(
      Compare(R"({"version": 2, "ingestion_complete": false})"),
      (Texts{"metadata version is not 1", "ingestion_complete is false"}));
}

TEST(ContextMetadata, NamesMayBeCutOrWithoutTheirOwner) {
  EXPECT_EQ(Compare(R"({"model_name": "Owner/Instr"})"), Texts{});
  EXPECT_EQ(Compare(R"({"model_name": "Other"})"),
            Texts{"model_name disagrees with metadata"});
}

/// The warnings on metadata that say `levels0` of a level of `tokens` tokens,
/// in blocks of 32.
Texts CompareTokens(uint64_t tokens, const std::string& levels0,
                    uint16_t block = 32) {
  Header header;
  header.level = 0;
  header.dtype = 0;
  header.block = block;
  header.count = tokens;
  const std::vector<ContextLevel> levels = {
      Level(header.A(static_cast<size_t>(tokens) * 4), 0)};
  return CompareMetadata(R"({"levels": {"LOD0": {)" + levels0 + "}}}", levels,
                         Request());
}

TEST(ContextMetadata, BlocksAreThoseOfTheTokensRoundedDownOrUp) {
  const Texts disagrees = {"num_blocks disagrees"};
  for (const auto& [tokens, blocks, right] :
       std::vector<std::tuple<uint64_t, std::string, bool>>{
           {2080, "65", true},
           {2080, "64", false},
           {2080, "66", false},
           {2093, "65", true},
           {2093, "66", true},
           {2093, "64", false},
           {2093, "67", false},
           {0, "0", true},
           {0, "1", false},
           {31, "-1", false},
           {31, "18446744073709551615", false},
           {31, "0.5", false},
           {31, "1e300", false},
           {31, "\"many\"", true},
           {31, "null", true}}) {
    EXPECT_EQ(CompareTokens(tokens, "\"num_blocks\": " + blocks),
              right ? Texts{} : disagrees)
        << tokens << " tokens, " << blocks;
  }
  EXPECT_EQ(CompareTokens(5, R"("num_blocks": 5)", 0), Texts{})
      << "there are no blocks";
}

// Metadata of a file that was cut is told once, by its number of tokens.
TEST(ContextMetadata, BlocksMayBeThoseOfTheTokensThatTheMetadataHas) {
  EXPECT_EQ(CompareTokens(100, R"("num_tokens": 2080, "num_blocks": 65)"),
            Texts{"num_tokens disagrees"});
  EXPECT_EQ(CompareTokens(100, R"("num_tokens": 2080, "num_blocks": 4)"),
            Texts{"num_tokens disagrees"});
  EXPECT_EQ(CompareTokens(100, R"("num_tokens": 2080, "num_blocks": 60)"),
            (Texts{"num_tokens disagrees", "num_blocks disagrees"}));
}

TEST(ContextMetadata, AMillionLevelsAreNotAMillionWarnings) {
  std::string text = R"({"levels": {"LOD0": {}, "junk": {})";
  for (int i = 1; i < 5000; ++i) {
    text += ", \"LOD" + std::to_string(i) + "\": {}";
  }
  EXPECT_EQ(Compare(text + "}}").size(), 64U);
}

TEST(MegaContextTree, TheNewNameWinsOverTheOld) {
  const TempDir dir;
  Header header;
  header.level = 0;
  header.dtype = 0;
  dir.Write("LOD0.ctx", header.A(8));
  dir.Write("L0.ctx", header.A(16));
  const auto tree = OpenContainer(*OpenSource(dir.Path("")), {});
  ASSERT_TRUE(Ok(tree));
  ASSERT_EQ(EntryCount(**tree), 1U);
  EXPECT_EQ(EntrySize(**tree, 0), 8U);
  EXPECT_NE(
      (*tree)->Info(LoneContext())["warnings"].dump().find("is not shown"),
      std::string::npos);
}

TEST(MegaContextTree, ADirectoryIsAContainerIfALevelIsSound) {
  const TempDir dir;
  EXPECT_FALSE(IsContainerDirectory(**OpenSource(dir.Path(""))));
  dir.Write("LOD0.ctx", "junk");
  EXPECT_FALSE(IsContainerDirectory(**OpenSource(dir.Path(""))));
  EXPECT_TRUE(
      Fails(OpenContainer(*OpenSource(dir.Path("")), {}), Code::kCorrupt));
  dir.Write("LOD1.ctx", Header().A(8));
  EXPECT_TRUE(IsContainerDirectory(**OpenSource(dir.Path(""))));
  const auto tree = OpenContainer(*OpenSource(dir.Path("")), {});
  ASSERT_TRUE(Ok(tree));
  EXPECT_TRUE(EntryFault(**tree, 0).has_value());
  EXPECT_EQ(EntrySize(**tree, 1), 8U) << "a bad level hides no other";
}

}  // namespace
}  // namespace ctxfs::megacontext
