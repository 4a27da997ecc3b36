// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/base/text/printable.h"

namespace ctxfs {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of a digit of base64; 64 for another character.
uint32_t Base64Value(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<uint32_t>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a' + 26);
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0' + 52);
  return c == '+' ? 62 : c == '/' ? 63 : 64;
}

void AppendHex(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

void AppendEscaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    out += "\\x";
    AppendHex(out, c);
  }
}

struct Character {
  size_t length;  // in bytes; 0: not UTF-8
  uint32_t point;
};

bool IsTail(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The first character of a non-empty `text`.
Character FirstCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead};
  size_t tail = 0;
  uint32_t least = 0;
  uint32_t point = 0;
  if (lead >= 0xF0) {
    tail = 3, least = 0x10000, point = lead & 0x07U;
  } else if (lead >= 0xE0) {
    tail = 2, least = 0x800, point = lead & 0x0FU;
  } else {
    tail = 1, least = 0x80, point = lead & 0x1FU;
  }
  if (lead < 0xC0 || lead > 0xF7 || text.size() <= tail) return {0, lead};
  for (size_t k = 1; k <= tail; ++k) {
    if (!IsTail(text[k])) return {0, lead};
    point = point << 6 | (static_cast<unsigned char>(text[k]) & 0x3FU);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < least || point > 0x10FFFF || surrogate) return {0, lead};
  return {tail + 1, point};
}

/// Whether a character may change the display of its line: control characters,
/// line separators, the marks of direction of Unicode Standard Annex 9, section
/// 2, and the byte order mark, which is invisible.
bool IsControl(uint32_t point) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F},
      {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [point](const auto& range) {
                       return point >= range.first && point <= range.second;
                     });
}

}  // namespace

std::string Printable(std::string_view text, Charset charset) {
  std::string out;
  while (true) {
    // Copies plain text at once, because most text is plain.
    const auto* const other = std::find_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; });
    const auto plain = static_cast<size_t>(other - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return out;
    const Character first = FirstCharacter(text);
    const bool ascii = first.point < 0x80;
    const size_t length = std::max<size_t>(first.length, 1);
    if (first.length != 0 && !IsControl(first.point) &&
        (ascii || charset == Charset::kUtf8)) {
      out += text.substr(0, length);
    } else {
      AppendEscaped(out, text.substr(0, length));
    }
    text.remove_prefix(length);
  }
}

std::string PrintableJson(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const Character first = FirstCharacter(json);
    const size_t length = std::max<size_t>(first.length, 1);
    if (first.point >= 0x7F && first.length != 0 && IsControl(first.point)) {
      out += "\\u";
      AppendHex(out, static_cast<char>(first.point >> 8));
      AppendHex(out, static_cast<char>(first.point & 0xFFU));
    } else {
      out += json.substr(0, length);
    }
    json.remove_prefix(length);
  }
  return out;
}

std::string Quote(std::string_view name) {
  constexpr size_t kShown = 200;
  const bool cut = name.size() > kShown;
  std::string_view shown = name.substr(0, kShown);
  // Moves the cut back to the start of a character.
  while (cut && !shown.empty() && IsTail(name[shown.size()])) {
    shown.remove_suffix(1);
  }
  if (shown.empty()) shown = name.substr(0, kShown);
  std::string out;
  for (size_t at = 0; at < shown.size();) {
    const size_t special =
        std::min(shown.find_first_of("'\\", at), shown.size());
    out += Printable(shown.substr(at, special - at));
    if (special < shown.size()) AppendEscaped(out, shown.substr(special, 1));
    at = special + 1;
  }
  return "'" + out + (cut ? "...'" : "'");
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = FirstCharacter(text.substr(at)).length;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string Hex(std::string_view text) {
  std::string out;
  for (const char c : text) AppendHex(out, c);
  return out;
}

std::string Base64(std::string_view text) {
  std::string base64;
  base64.reserve((text.size() + 2) / 3 * 4);
  for (size_t i = 0; i < text.size(); i += 3) {
    const size_t n = std::min<size_t>(3, text.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < n ? static_cast<unsigned char>(text[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      base64 += k <= n ? kBase64Digits[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return base64;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const uint32_t digit = Base64Value(c);
    if (digit == 64) return std::nullopt;
    bits = bits << 6U | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFFU);
  }
  return bytes;
}

}  // namespace ctxfs
