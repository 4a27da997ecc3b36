// SPDX-License-Identifier: Apache-2.0
#include "core/container/foreign_formats.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/limits.h"
#include "core/container/format.h"

namespace ctxfs {
namespace {

Bytes AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

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
            "not a container of a known format");
}

}  // namespace
}  // namespace ctxfs
