// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "core/formats/zip/times.h"

namespace ctxfs {
namespace {

using zip::Member;

constexpr unsigned kNoon = 12U << 11U;

unsigned Date(unsigned year, unsigned month, unsigned day) {
  return (year - 1980) << 9U | month << 5U | day;
}

/// The time zone of this process, for a moment.
class TimeZone {
 public:
  explicit TimeZone(const char* name) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    Set(name);
  }
  ~TimeZone() { Set(before_.empty() ? nullptr : before_.c_str()); }
  TimeZone(const TimeZone&) = delete;
  TimeZone& operator=(const TimeZone&) = delete;

 private:
  static void Set(const char* name) {
    if (name == nullptr) {
      ::unsetenv("TZ");
    } else {
      ::setenv("TZ", name, 1);
    }
    ::tzset();
  }

  std::string before_;
};

int64_t SecondsOf(unsigned date) {
  Member member;
  zip::TakeDosTime(kNoon, date, member);
  return zip::TimeOf(member.attributes).value_or(FileTime{-1, 0}).seconds;
}

TEST(ZipTimes, Item41_8_AreLocalTimesWithTheirSummerTime) {
  constexpr int64_t kWinter = 1'699'963'200;  // 2023-11-14 12:00 UTC
  constexpr int64_t kSummer = 1'689'336'000;  // 2023-07-14 12:00 UTC
  const TimeZone berlin("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(SecondsOf(Date(2023, 11, 14)), kWinter - 3600);
  EXPECT_EQ(SecondsOf(Date(2023, 7, 14)), kSummer - 7200);
}

TEST(ZipTimes, Item41_8_DatesThatAreNoneLeaveNoTime) {
  for (const unsigned date :
       {0U, Date(2023, 13, 1), Date(2023, 2, 30), Date(2023, 1, 0)}) {
    Member member;
    zip::TakeDosTime(kNoon, date, member);
    EXPECT_EQ(zip::TimeOf(member.attributes), std::nullopt) << date;
  }
  Member member;  // 31:63:62 is the last second of the day
  zip::TakeDosTime(0xFFFF, Date(1980, 1, 1), member);
  EXPECT_EQ(member.attributes.mtime(), 315'532'800 + 86'399);
}

TEST(ZipTimes, Item41_8_ExtraFieldsThatAreCutLeaveTheTimeOfDos) {
  const std::string fields[] = {
      {"UT\3\0\1\2\3", 7},          // three of five bytes
      {"UT\5\0\0\2\3\4\5", 9},      // no modification time
      {"\n\0\4\0\0\0\0\0", 8},      // no attribute
      {"UX\4\0\0\0\0\0", 8},        // one time
      {"UT\xFF\xFF\1\2\3\4\5", 9},  // runs past the end
  };
  for (const std::string& field : fields) {
    Member member;
    zip::TakeDosTime(kNoon, Date(2023, 7, 14), member);
    zip::TakeExtraTime(AsBytes(field), member);
    EXPECT_TRUE(member.attributes.is_local()) << field;
  }
}

}  // namespace
}  // namespace ctxfs
