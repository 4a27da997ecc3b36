// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/named_digest.h"

#include <gtest/gtest.h>

#include <string>

namespace ctxfs {
namespace {

std::string HexOf(std::string_view name, std::string_view text) {
  Hasher hasher(*HashNamed(name));
  // In two pieces, as of a file.
  hasher.Update(AsBytes(text.substr(0, 1)));
  hasher.Update(AsBytes(text.substr(1)));
  return hasher.Hex();
}

// Of Python's hashlib and of xxhsum.
TEST(NamedDigest, KnowsTheAlgorithmsOfDataSets) {
  EXPECT_EQ(HexOf("md5", "abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(HexOf("sha1", "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(HexOf("sha3_224", "abc"),
            "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf");
  EXPECT_EQ(HexOf("blake2s", "abc"),
            "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982");
  EXPECT_EQ(HexOf("blake2b", "abc").size(), 128U);
  EXPECT_EQ(HexOf("sha384", "abc").size(), 96U);
  EXPECT_EQ(HexOf("xxh32", "abc"), "32d153ff");
  EXPECT_EQ(HexOf("xxh64", "abc"), "44bc2cf5ad770999");
  EXPECT_EQ(HexOf("xxh3_64", "abc"), "78af5f94892f3950");
  EXPECT_EQ(HexOf("xxh3_128", "abc"), HexOf("xxh128", "abc"));
}

TEST(NamedDigest, KnowsNoOthers) {
  EXPECT_FALSE(HashNamed("crc99"));
  EXPECT_FALSE(HashNamed(""));
  EXPECT_EQ(HashName(*HashNamed("xxh128")), "xxh3_128");
  EXPECT_EQ((ExpectedHash{HashAlgorithm::kSha1, "00"}).Text(), "sha1:00");
}

}  // namespace
}  // namespace ctxfs
