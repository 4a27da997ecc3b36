// SPDX-License-Identifier: Apache-2.0
//
// Decodes scalars that generation 2 shares with the unified table of generation
// 1 (docs/formats/cowrie.md, sections 2 and 5).
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/reader.h"
#include "core/formats/cowrie/text.h"

namespace ctxfs::cowrie {
namespace {

/// Whether the first byte of a two's complement number is redundant.
bool HasNeedlessByte(Bytes integer) {
  constexpr auto kSign = std::byte{0x80};
  if (integer.size() < 2) return false;
  const bool negative = (integer[1] & kSign) != std::byte{0};
  return integer[0] == (negative ? std::byte{0xFF} : std::byte{0});
}

}  // namespace

std::optional<Json> CowrieReader::UnifiedScalar(uint8_t tag) {
  // A Json alone would be ambiguous: it converts to std::optional<Json> in two
  // ways.
  constexpr std::in_place_t kOf;
  switch (tag) {
    case 0x09:
      return std::optional<Json>(kOf, UnsignedJson(Uvarint()));
    case 0x0A:
      return std::optional<Json>(kOf, Decimal());
    case 0x0B:
      return std::optional<Json>(kOf, DateTime());
    case 0x0C: {
      const Bytes uuid = Take(16);
      return ok() && ChargeText(36) ? Uuid(uuid) : "";
    }
    case 0x0D:
      return std::optional<Json>(kOf, BigInteger());
    case 0x0E:
      return std::optional<Json>(kOf, Extension());
    case 0x0F:
      return F32();
    default:
      return std::nullopt;
  }
}

Json CowrieReader::Decimal() {
  constexpr std::ptrdiff_t kUsualDigits = 18;
  const auto scale = static_cast<int8_t>(U8());
  const Bytes coefficient = Take(16);
  ChargeText(256);
  std::string digits = cowrie::BigInteger(coefficient);
  CountOdd(std::ranges::count_if(digits, [](char c) { return c != '-'; }) >
           kUsualDigits);
  return cowrie::Decimal(std::move(digits), scale);
}

Json CowrieReader::DateTime() {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kFrom = -2'208'988'800 * kSecond;  // 1900-01-01
  constexpr int64_t kUntil = 7'289'654'400 * kSecond;  // 2201-01-01
  const auto time = static_cast<int64_t>(U64());
  CountOdd(time < kFrom || time >= kUntil);
  ChargeText(32);
  return cowrie::DateTime(time);
}

Json CowrieReader::BigInteger() {
  const Bytes integer = Data();
  const uint64_t size = integer.size();
  if (size > kMaxBigIntBytes) {
    Fail(fmt::format("an integer of {} bytes is over the limit of {}", size,
                     kMaxBigIntBytes),
         Code::kLimit);
    return nullptr;
  }
  CountOdd(HasNeedlessByte(integer));
  // Converting to decimal takes quadratic time.
  return ChargeText(size * size) ? cowrie::BigInteger(integer) : "";
}

Json CowrieReader::Extension() {
  const uint64_t type = Uvarint();
  return {{"_type", "unknown_ext"},
          {"ext_type", UnsignedJson(type)},
          {"payload", Base64Of(Data())}};
}

}  // namespace ctxfs::cowrie
