// SPDX-License-Identifier: Apache-2.0
#include "core/container/unreadable.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

TEST(UnreadableContainer, HasTheReasonTheBytesAndNoEntry) {
  const auto source = std::make_shared<MemorySource>("12345");
  const auto container =
      UnreadableContainer(source, {Code::kCorrupt, "torn", 40});
  EXPECT_EQ(EntryCount(*container), 0U);
  EXPECT_EQ(container->source(), source);
  const Json info = container->Info(LoneContext());
  EXPECT_EQ(info["error"], "byte 40: torn");
  EXPECT_EQ(info["warnings"], Json::array({"byte 40: torn"}));
  EXPECT_EQ(info["container_size"], 5);
  EXPECT_EQ(info["entries"], 0);
}

TEST(UnreadableContainer, NeedsNoSource) {
  const auto container = UnreadableContainer(nullptr, {Code::kIo, "gone"});
  ASSERT_NE(container->source(), nullptr);
  EXPECT_EQ(container->source()->size(), 0U);
  EXPECT_EQ(container->Info(LoneContext())["error"], "gone");
}

}  // namespace
}  // namespace ctxfs
