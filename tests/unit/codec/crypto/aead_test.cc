// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/aead.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/text/text.h"
#include "tests/unit/testing/hex.h"

namespace ctxfs {
namespace {

// AES-256-GCM with a key and a nonce of zeros: test cases 13 and 14 of the
// mode's specification.
constexpr const char* kTagOfNothing = "530f8afbc74536b9a963b4f1c4cb738b";
constexpr const char* kBlock = "cea7403d4d606b6e074ec5d3baf39d18";
constexpr const char* kTagOfBlock = "d0d1c8a799996bf0265b98b5d48ab919";

TEST(Aead, OpensKnownAnswers) {
  const std::string key(32, '\0');
  const std::string nonce(kAeadNonceBytes, '\0');
  const Result<Buffer> nothing =
      OpenSealed(AsBytes(key), {}, AsBytes(nonce + FromHex(kTagOfNothing)));
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->size(), 0U);
  const Result<Buffer> block =
      OpenSealed(AsBytes(key), {},
                 AsBytes(nonce + FromHex(kBlock) + FromHex(kTagOfBlock)));
  ASSERT_TRUE(block);
  EXPECT_EQ(AsText(block->span()), std::string(16, '\0'));
}

TEST(Aead, RefusesEveryFlippedBit) {
  const std::string key(32, '\0');
  const std::string good = std::string(kAeadNonceBytes, '\0') +
                           FromHex(kBlock) + FromHex(kTagOfBlock);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const Result<Buffer> opened = OpenSealed(AsBytes(key), {}, AsBytes(bad));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kChecksum);
  }
  EXPECT_FALSE(OpenSealed(AsBytes(key), AsBytes("name"), AsBytes(good)));
  EXPECT_FALSE(OpenSealed(AsBytes(key), {}, AsBytes(good).first(27)));
}

// HKDF-SHA256 of RFC 5869 needs a key of 22 bytes; this is the same function
// over 32 zeros, as another implementation computes it.
TEST(Aead, DerivesKeys) {
  const MasterKey master(AsBytes(std::string(32, '\0')));
  const Result<Buffer> key = DeriveKey(master, AsBytes(std::string(16, '\1')),
                                       AsBytes("shard-entry:x"));
  ASSERT_TRUE(key);
  EXPECT_EQ(Hex(AsText(key->span())),
            "5e81ab7e54282a6d734d5a840b9266837e50bafe46571705188fe3ad2f86db74");
}

}  // namespace
}  // namespace ctxfs
