// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/digest.h"

#include <gtest/gtest.h>

namespace ctxfs {
namespace {

// The vectors of FIPS 180-4.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(Sha256().Hex(),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
  Sha256 pieces;
  for (const char* piece : {"a", "", "bc"}) pieces.Update(AsBytes(piece));
  EXPECT_EQ(pieces.Hex(),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
}

// A vector of FIPS 180-4, and the name that git gives an empty file.
TEST(Sha1, KnownVectors) {
  Sha1 pieces;
  for (const char* piece : {"a", "", "bc"}) pieces.Update(AsBytes(piece));
  EXPECT_EQ(pieces.Hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
  Sha1 blob;
  blob.Update(AsBytes(std::string_view("blob 0\0", 7)));
  EXPECT_EQ(blob.Hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

// The vectors of RFC 1321.
TEST(Md5, KnownVectors) {
  EXPECT_EQ(Md5().Hex(), "d41d8cd98f00b204e9800998ecf8427e");
  Md5 pieces;
  for (const char* piece : {"message", " ", "digest"}) {
    pieces.Update(AsBytes(piece));
  }
  EXPECT_EQ(pieces.Hex(), "f96b697d7cb7938d525a2f31aaf161d0");
}

// What xxhsum -H3 prints.
TEST(Xxh3, KnownVectors) {
  EXPECT_EQ(Xxh3().Hex(), "2d06800538d394c2");
  Xxh3 pieces;
  for (const char* piece : {"a", "", "bc"}) pieces.Update(AsBytes(piece));
  EXPECT_EQ(pieces.Hex(), "78af5f94892f3950");
}

}  // namespace
}  // namespace ctxfs
