// SPDX-License-Identifier: Apache-2.0
#include "core/codec/crypto/keyed_digest.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/text/text.h"

namespace ctxfs {
namespace {

// RFC 4231, test case 1.
TEST(KeyedDigest, Item41_12_IsHmacSha256) {
  const std::string key(20, '\x0b');
  KeyedDigest whole(key);
  whole.Update(AsBytes(std::string_view("Hi There")));
  EXPECT_EQ(Hex(whole.Raw()),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  KeyedDigest pieces(key);
  pieces.Update(AsBytes(std::string_view("Hi ")));
  pieces.Update(AsBytes(std::string_view("There")));
  EXPECT_EQ(pieces.Hex(), "b0344c61d8db38535ca8afceaf0bf12b");
  EXPECT_EQ(KeyedDigest("").Hex(), "");
}

}  // namespace
}  // namespace ctxfs
