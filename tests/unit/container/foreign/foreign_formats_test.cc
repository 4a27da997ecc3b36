// SPDX-License-Identifier: Apache-2.0
#include "core/container/foreign/foreign_formats.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/format.h"

namespace ctxfs {
namespace {

TEST(Formats, SayWhatTheirContainersHold) {
  for (const Format* const format : Formats()) {
    EXPECT_FALSE(format->contents.empty()) << format->name;
  }
}

TEST(ForeignFormats, AreRecognisedByTheirFirstBytes) {
  const auto name = [](const std::string& head) {
    const ForeignFormat* const format = RecogniseForeign(AsBytes(head));
    return format == nullptr ? "" : std::string(format->name);
  };
  EXPECT_EQ(name("PAR1"), "a Parquet file");
  EXPECT_EQ(name(std::string("\x1f\x8b\x08\0", 4)), "a gzip file");
  EXPECT_EQ(name("BZh91AY&SY"), "a bzip2 file");
  // Cut, shifted, or only similar.
  EXPECT_EQ(name("PAR"), "");
  EXPECT_EQ(name(" PAR1"), "");
  EXPECT_EQ(name("\x1f\x8b"), "");
  EXPECT_EQ(name("12345678{\"a"), "");
  EXPECT_EQ(name(""), "");
}

TEST(ForeignFormats, Item41_2_KindsOfCowrieAreNamed) {
  const std::string indexed("SJST\x01\0\0\0", 8);
  for (const std::string& head :
       {indexed, std::string("SJFR\x01"), std::string("COWR\x01"),
        std::string("CWRF\x01"), std::string("SJGS\x01"),
        std::string("SJGH----"), std::string("SJLD\x01"),
        std::string("SJLZ----"), std::string("SJLS----")}) {
    EXPECT_FALSE(IsContainer(AsBytes(head))) << head;
    EXPECT_NE(WhyNoContainer(AsBytes(head)).find("which ctxfs does not open"),
              std::string::npos)
        << head;
  }
}

TEST(ForeignFormats, AreNotContainers) {
  for (const ForeignFormat& one : ForeignFormats()) {
    EXPECT_TRUE(one.name.starts_with("a ") || one.name.starts_with("an "))
        << one.name;
    EXPECT_FALSE(one.advice.empty()) << one.name;
  }
  EXPECT_FALSE(
      IsContainer(AsBytes(std::string("PAR1") + std::string(60, 'x'))));
}

TEST(WhyNoContainer, NamesTheReason) {
  EXPECT_EQ(WhyNoContainer({}), "not a container: the file is empty");
  EXPECT_NE(WhyNoContainer(AsBytes(std::string(64, '\0')))
                .find("writer has not finished"),
            std::string::npos);
  EXPECT_EQ(WhyNoContainer(AsBytes("PAR1....")),
            "not a container of a known format: it is a Parquet file; pyarrow, "
            "pandas or duckdb reads it");
  EXPECT_EQ(WhyNoContainer(AsBytes("something else")),
            "not a container of a known format: it is text");
  EXPECT_EQ(WhyNoContainer(AsBytes("{\"a\": 1}")),
            "not a container of a known format: it is JSON text");
  EXPECT_EQ(WhyNoContainer(AsBytes("\x01\x02 none")),
            "not a container of a known format");
}

TEST(ForeignFormats, Item28_7_NoiseIsOfNoFormat) {
  std::mt19937 random(28);
  int named = 0;
  constexpr int kHeads = 20'000;
  for (int i = 0; i < kHeads; ++i) {
    std::string head(64, '\0');
    for (char& c : head) c = static_cast<char>(random());
    const MemorySource source(head);
    if (RecogniseForeign(AsBytes(head), &source) != nullptr) ++named;
  }
  // A header of zlib is 16 bits, a map of MessagePack with a key about 20.
  EXPECT_LT(named, kHeads / 1000);
}

TEST(ForeignFormats, Item28_7_CompressedFilesAreNamedByTheirContents) {
  // RFC 1952 with every optional field, then a stored block of deflate.
  const std::string text = "plain text";
  const std::string gzip = std::string("\x1f\x8b\x08\x1e\0\0\0\0\0\3", 10) +
                           std::string("\4\0abcd", 6) +
                           std::string("name\0", 5) + std::string("note\0", 5) +
                           "CR" + std::string("\1\x0a\0\xf5\xff", 5) + text;
  EXPECT_EQ(WhyNoContainer(AsBytes(gzip)),
            "not a container of a known format: it is a gzip file with text "
            "inside; gzip -d unpacks it");
  // Cut anywhere, it is still a gzip file.
  for (size_t size = 3; size < gzip.size(); ++size) {
    EXPECT_NE(WhyNoContainer(AsBytes(gzip.substr(0, size))).find("a gzip file"),
              std::string::npos)
        << size;
  }
}

TEST(LooksLikeText, MayEndWithinACharacter) {
  const std::string most(limits::kProbeBytes - 1, 'x');
  EXPECT_TRUE(LooksLikeText(AsBytes(most + "\xC3")));
  EXPECT_FALSE(LooksLikeText(AsBytes("x\xC3")));
  EXPECT_FALSE(LooksLikeText(AsBytes("x\x01")));
}

}  // namespace
}  // namespace ctxfs
