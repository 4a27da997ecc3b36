// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ctxfs {
namespace {

TEST(Log, GoesToTheSinkUpToTheLevel) {
  std::vector<std::string> seen;
  const LogSink before =
      SetLogSink([&](LogLevel /*level*/, const std::string& message) {
        seen.push_back(message);
        return message != "dropped";
      });
  EXPECT_TRUE(Log(LogLevel::kError, "error"));
  EXPECT_TRUE(Log(LogLevel::kWarning, "warning"));
  EXPECT_FALSE(Log(LogLevel::kInfo, "info"));
  EXPECT_FALSE(Log(LogLevel::kWarning, "dropped"));
  EXPECT_EQ(seen, (std::vector<std::string>{"error", "warning", "dropped"}));
  (void)SetLogSink(before);
}

// The library itself prints nothing.
TEST(Log, GoesNowhereWithoutASink) {
  const LogSink before = SetLogSink(nullptr);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Log(LogLevel::kError, "lost"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  (void)SetLogSink(before);
}

}  // namespace
}  // namespace ctxfs
