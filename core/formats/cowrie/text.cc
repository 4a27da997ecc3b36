// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cowrie/text.h"

#include <chrono>
#include <cstdio>
#include <vector>

#include "core/base/text/text.h"

namespace ctxfs::cowrie {

std::string BigInteger(Bytes bytes) {
  std::vector<uint32_t> magnitude;  // base 10^9, least first
  const bool negative =
      !bytes.empty() && std::to_integer<unsigned>(bytes[0]) >= 0x80;
  constexpr uint64_t kBase = 1'000'000'000;
  const auto multiply_add = [&magnitude](uint64_t factor, uint64_t carry) {
    for (uint32_t& digit : magnitude) {
      carry += digit * factor;
      digit = static_cast<uint32_t>(carry % kBase);
      carry /= kBase;
    }
    if (carry != 0) magnitude.push_back(static_cast<uint32_t>(carry));
  };
  // The magnitude of a negative number is its inverted bits plus one.
  for (const std::byte byte : bytes) {
    multiply_add(256, std::to_integer<uint64_t>(negative ? ~byte : byte));
  }
  if (negative) multiply_add(1, 1);
  if (magnitude.empty()) return "0";
  std::string text = negative ? "-" : "";
  text += std::to_string(magnitude.back());
  for (size_t i = magnitude.size() - 1; i-- > 0;) {
    char digits[16];
    std::snprintf(digits, sizeof(digits), "%09u", magnitude[i]);
    text += digits;
  }
  return text;
}

std::string Decimal(std::string digits, int scale) {
  if (scale == 0 || digits == "0") return digits;
  if (scale < 0) return digits + std::string(static_cast<size_t>(-scale), '0');
  const size_t sign = digits[0] == '-' ? 1 : 0;
  const auto places = static_cast<size_t>(scale);
  if (digits.size() - sign <= places) {
    digits.insert(sign, places + 1 - (digits.size() - sign), '0');
  }
  digits.insert(digits.size() - places, ".");
  return digits;
}

std::string DateTime(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kDay = 86'400 * kSecond;
  // std::chrono::floor would overflow: midnight of the earliest day is out of
  // range for nanoseconds in 64 bits.
  int64_t day = ns / kDay;
  int64_t rest = ns % kDay;
  if (rest < 0) {
    --day;
    rest += kDay;
  }
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(day))};
  const auto seconds = static_cast<unsigned>(rest / kSecond);
  const auto fraction = static_cast<unsigned>(rest % kSecond);
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02uT%02u:%02u:%02u",
                static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), seconds / 3600,
                seconds / 60 % 60, seconds % 60);
  std::string iso = text;
  if (fraction != 0) {
    const bool micro = fraction % 1000 == 0;
    std::snprintf(text, sizeof(text), micro ? ".%06u" : ".%09u",
                  micro ? fraction / 1000 : fraction);
    iso += text;
  }
  return iso + "Z";
}

std::string Uuid(Bytes bytes) {
  std::string text = Hex(AsText(bytes));
  for (const size_t at : {20U, 16U, 12U, 8U}) text.insert(at, "-");
  return text;
}

}  // namespace ctxfs::cowrie
