// SPDX-License-Identifier: Apache-2.0
#include "core/report/script_json.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>

#include "core/base/text/printable.h"

namespace ctxfs {

std::string ScriptJson(const Json& value) {
  const std::string json = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                      Json::error_handler_t::replace);
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      // JSON has these characters only in strings.
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      case '\x7f':
        text += "\\u007f";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string HtmlText(std::string_view text) {
  std::string html;
  uint32_t point = 0;
  unsigned tail = 0;  // missing bytes of the character
  for (const char c : Printable(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      constexpr std::string_view kMarkup = "<>&\"'";
      html += kMarkup.find(c) == std::string_view::npos
                  ? std::string(1, c)
                  : fmt::format("&#{};", byte);
      continue;
    }
    if (tail == 0) {  // Printable is well-formed UTF-8
      tail = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
      point = byte & (0x3FU >> tail);
      continue;
    }
    point = point << 6 | (byte & 0x3FU);
    if (--tail == 0) html += fmt::format("&#{};", point);
  }
  return html;
}

std::string CutText(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto continues = [text](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  // A UTF-8 character has at most three continuation bytes.
  size_t end = most;
  for (unsigned i = 0; i < 3 && end > 0 && continues(end); ++i) --end;
  return std::string(text.substr(0, end)) + "\xE2\x80\xA6";
}

Json Rounded(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 32> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size(), value,
                                  std::chars_format::general, digits)
                        .ptr;
  double rounded = value;
  (void)std::from_chars(text.data(), end, rounded);
  return rounded;
}

}  // namespace ctxfs
