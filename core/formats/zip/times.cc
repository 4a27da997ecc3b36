// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/times.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

#include "core/formats/zip/names.h"

namespace ctxfs::zip {
namespace {

/// Field 0x5455: flags, then the announced times, modification time first.
std::optional<int64_t> ExtendedTime(Bytes extra) {
  constexpr uint16_t kExtended = 0x5455;
  const std::optional<Bytes> field = FindExtraField(extra, kExtended);
  if (!field) return std::nullopt;
  ByteReader in(*field);
  const bool modified = (in.U8() & 1U) != 0;
  const auto seconds = static_cast<int32_t>(in.U32());
  if (!modified || !in.ok()) return std::nullopt;
  return seconds;
}

/// Field 0x000A: four bytes, then attributes with number and size; attribute 1
/// has times in units of 100 ns since 1601, modification time first. Reads only
/// the field's first attribute.
std::optional<int64_t> NtfsTime(Bytes extra) {
  constexpr uint16_t kNtfs = 0x000A;
  constexpr uint64_t kTick = 10'000'000;  // ticks in a second
  constexpr int64_t kFrom1601 = 11'644'473'600;
  const std::optional<Bytes> field = FindExtraField(extra, kNtfs);
  if (!field) return std::nullopt;
  ByteReader in(*field);
  in.Skip(4);
  const uint16_t number = in.U16();
  const uint16_t size = in.U16();
  const uint64_t ticks = in.U64();
  if (!in.ok() || number != 1 || size < sizeof(ticks)) return std::nullopt;
  return static_cast<int64_t>(ticks / kTick) - kFrom1601;
}

/// Field 0x5855 of old Info-ZIP archives: access time, modification time.
std::optional<int64_t> UnixTime(Bytes extra) {
  constexpr uint16_t kUnixTimes = 0x5855;
  const std::optional<Bytes> field = FindExtraField(extra, kUnixTimes);
  if (!field) return std::nullopt;
  ByteReader in(*field);
  in.Skip(4);
  const auto seconds = static_cast<int32_t>(in.U32());
  if (!in.ok()) return std::nullopt;
  return seconds;
}

/// Returns the offset of local time from UTC at a time in UTC. Unlike mktime(),
/// localtime_r() reads the time zone only once, at the start.
int64_t ZoneAt(int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm local {};
  return ::localtime_r(&time, &local) == nullptr ? 0 : local.tm_gmtoff;
}

}  // namespace

void TakeDosTime(unsigned time, unsigned date, Member& member) {
  namespace chrono = std::chrono;
  const chrono::year_month_day day(
      chrono::year(static_cast<int>(1980 + (date >> 9U))),
      chrono::month(date >> 5U & 0xFU), chrono::day(date & 0x1FU));
  if (!day.ok()) return;
  const chrono::seconds of_day =
      chrono::hours(std::min(time >> 11U, 23U)) +
      chrono::minutes(std::min(time >> 5U & 0x3FU, 59U)) +
      chrono::seconds(std::min(2 * (time & 0x1FU), 59U));
  member.attributes.SetMtime(
      (chrono::sys_days(day) + of_day).time_since_epoch().count(),
      /*local=*/true);
}

void TakeExtraTime(Bytes extra, Member& member) {
  for (const auto& time : {&ExtendedTime, &NtfsTime, &UnixTime}) {
    const std::optional<int64_t> seconds = time(extra);
    if (seconds) return member.attributes.SetMtime(*seconds);
  }
}

std::optional<FileTime> TimeOf(const PackedAttributes& attributes) {
  const std::optional<int64_t> seconds = attributes.mtime();
  if (!seconds) return std::nullopt;
  if (!attributes.is_local()) return FileTime{*seconds, 0};
  // Near a change of daylight saving time, ZoneAt(*seconds) may be the wrong
  // offset, so the offset at the guess counts.
  const int64_t guess = *seconds - ZoneAt(*seconds);
  return FileTime{*seconds - ZoneAt(guess), 0};
}

}  // namespace ctxfs::zip
