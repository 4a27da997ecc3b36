// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <algorithm>
#include <cstdint>

namespace ctxfs {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

void AppendHex(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

}  // namespace

std::string Quote(std::string_view name) {
  constexpr size_t kShown = 200;
  std::string out = "'";
  for (const char c : name.substr(0, kShown)) {
    if (c >= ' ' && c <= '~' && c != '\'' && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      AppendHex(out, c);
    }
  }
  if (name.size() > kShown) out += "...";
  return out + "'";
}

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    size_t tail = 0;
    uint32_t least = 0;
    uint32_t point = lead;
    if (lead >= 0xF0) {
      tail = 3, least = 0x10000, point = lead & 0x07U;
    } else if (lead >= 0xE0) {
      tail = 2, least = 0x800, point = lead & 0x0FU;
    } else if (lead >= 0xC0) {
      tail = 1, least = 0x80, point = lead & 0x1FU;
    } else if (lead >= 0x80) {
      return false;
    }
    if (lead > 0xF7 || text.size() - i <= tail) return false;
    for (size_t k = 1; k <= tail; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0U) != 0x80U) return false;
      point = point << 6 | (next & 0x3FU);
    }
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    if (point < least || point > 0x10FFFF || surrogate) return false;
    i += tail + 1;
  }
  return true;
}

std::string Hex(std::string_view text) {
  std::string out;
  for (const char c : text) AppendHex(out, c);
  return out;
}

std::string Base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  base64.reserve((text.size() + 2) / 3 * 4);
  for (size_t i = 0; i < text.size(); i += 3) {
    const size_t n = std::min<size_t>(3, text.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < n ? static_cast<unsigned char>(text[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      base64 += k <= n ? kAlphabet[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return base64;
}

}  // namespace ctxfs
