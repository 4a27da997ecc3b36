// SPDX-License-Identifier: Apache-2.0
#include "core/cache/write_pause.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

namespace ctxfs {
namespace {

TEST(WritePauseTest, Item41_16_ARefusalIsFollowedByAPause) {
  const auto now = WritePause::Clock::now();
  for (const int error : {ENOSPC, EDQUOT, EROFS, EACCES}) {
    WritePause pause;
    EXPECT_TRUE(pause.MayWrite(now));
    pause.Note(error, now);
    EXPECT_EQ(pause.error(), error);
    EXPECT_FALSE(pause.MayWrite(now));
    EXPECT_FALSE(pause.MayWrite(now + WritePause::kLasts -
                                std::chrono::milliseconds(1)));
    // One attempt, which succeeds or not.
    EXPECT_TRUE(pause.MayWrite(now + WritePause::kLasts));
    pause.Note(error, now + WritePause::kLasts);
    EXPECT_FALSE(pause.MayWrite(now + WritePause::kLasts));
    pause.Shorten();
    EXPECT_TRUE(pause.MayWrite(now));
    EXPECT_EQ(pause.error(), error) << "until a write succeeds";
    pause.Note(0, now);
    EXPECT_EQ(pause.error(), 0);
  }
  WritePause pause;
  for (const int error : {ENOENT, EMFILE, EISDIR}) pause.Note(error, now);
  EXPECT_TRUE(pause.MayWrite(now));
}

}  // namespace
}  // namespace ctxfs
