// SPDX-License-Identifier: Apache-2.0
#include "fs/common/exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "core/base/error_number.h"
#include "core/base/work.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

TEST(ExitCode, AndErrnoFollowFromEveryCode) {
  struct Case {
    Code code;
    ExitCode exit_code;
    int error_number;
    bool permanent;
  };
  constexpr Case kCases[] = {
      {Code::kNotFound, ExitCode::kSource, ENOENT, true},
      {Code::kNotContainer, ExitCode::kNotContainer, EIO, true},
      {Code::kVersion, ExitCode::kVersion, EIO, true},
      {Code::kUnsupported, ExitCode::kVersion, EIO, true},
      {Code::kCorrupt, ExitCode::kDamaged, EIO, true},
      {Code::kChecksum, ExitCode::kDamaged, EIO, true},
      {Code::kLimit, ExitCode::kLimit, EIO, true},
      {Code::kIo, ExitCode::kSource, EIO, false},
      {Code::kStale, ExitCode::kSource, ESTALE, false},
      {Code::kNoMemory, ExitCode::kSource, ENOMEM, false},
      {Code::kTooManyFiles, ExitCode::kSource, EMFILE, false},
      {Code::kInterrupted, ExitCode::kSource, EINTR, false},
  };
  for (const Case& c : kCases) {
    const Error error{c.code, "what"};
    EXPECT_EQ(ExitCodeOf(error), c.exit_code) << static_cast<int>(c.code);
    EXPECT_EQ(ErrnoOf(error), c.error_number) << static_cast<int>(c.code);
    EXPECT_EQ(error.Permanent(), c.permanent) << static_cast<int>(c.code);
  }
}

TEST(ExitCode, PassesOnWhichLimitOfDescriptorsWasReached) {
  for (const int number : {EMFILE, ENFILE}) {
    const Error error = SystemError("cannot be opened", number);
    EXPECT_EQ(error.code, Code::kTooManyFiles);
    EXPECT_EQ(ErrnoOf(error), number);
  }
  EXPECT_EQ(ErrnoOf(SystemError("cannot be opened", ENOMEM)), ENOMEM);
  EXPECT_EQ(ErrnoOf(SystemError("cannot be opened", EPERM)), EIO);
}

TEST(ExitCode, Item30_6_PassesOnWhyAServerWasNotRead) {
  for (const int number : {EACCES, ENETDOWN}) {
    EXPECT_EQ(ErrnoOf({Code::kIo, "what", kNoOffset, number}), number);
  }
}

TEST(ExitCode, HasTheNumbersOfTheManual) {
  EXPECT_EQ(static_cast<int>(ExitCode::kOk), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kUsage), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::kSource), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kNotContainer), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kDamaged), 4);
  EXPECT_EQ(static_cast<int>(ExitCode::kVersion), 5);
  EXPECT_EQ(static_cast<int>(ExitCode::kMountPoint), 6);
  EXPECT_EQ(static_cast<int>(ExitCode::kFuse), 7);
  EXPECT_EQ(static_cast<int>(ExitCode::kLimit), 8);
}

TEST(ExitCode, RefusedWorkIsNotDamage) {
  Work work(100, 10);
  EXPECT_EQ(ErrnoOf(work.Charge(101).error()), EFBIG);
}

TEST(Error, NamesItsByteWhereThereIsOne) {
  EXPECT_EQ((Error{Code::kIo, "broken"}).Text(), "broken");
  EXPECT_EQ((Error{Code::kIo, "broken", 0}).Text(), "byte 0: broken");
  EXPECT_EQ((Error{Code::kIo, "broken", 80}).Text(), "byte 80: broken");
}

}  // namespace
}  // namespace ctxfs
