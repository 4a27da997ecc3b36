// SPDX-License-Identifier: Apache-2.0
#include "core/base/build_id.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace ctxfs {
namespace {

TEST(BuildId, IsThatOfTheLibraryWithTheCode) {
  const std::string id = BuildIdOf(reinterpret_cast<uintptr_t>(&::inflate));
  EXPECT_GE(id.size(), 16U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(BuildIdOf(reinterpret_cast<uintptr_t>(&::deflate)), id);
  EXPECT_NE(BuildIdOf(reinterpret_cast<uintptr_t>(&BuildIdOf)), id);
  EXPECT_EQ(BuildIdOf(0), "");
}

}  // namespace
}  // namespace ctxfs
