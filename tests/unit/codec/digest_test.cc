// SPDX-License-Identifier: Apache-2.0
#include "core/codec/digest.h"

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

// The vectors of RFC 1321.
TEST(Md5, KnownVectors) {
  EXPECT_EQ(Md5().Hex(), "d41d8cd98f00b204e9800998ecf8427e");
  Md5 pieces;
  for (const char* piece : {"message", " ", "digest"}) {
    pieces.Update(AsBytes(piece));
  }
  EXPECT_EQ(pieces.Hex(), "f96b697d7cb7938d525a2f31aaf161d0");
}

}  // namespace
}  // namespace ctxfs
