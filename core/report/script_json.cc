// SPDX-License-Identifier: Apache-2.0
#include "core/report/script_json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace ctxfs {

std::string ScriptJson(const Json& value) {
  const std::string json = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                      Json::error_handler_t::replace);
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      // In JSON these occur in strings only.
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

std::string CutText(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto continues = [text](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  // A character has at most three bytes that continue it.
  size_t end = most;
  for (unsigned i = 0; i < 3 && end > 0 && continues(end); ++i) --end;
  return std::string(text.substr(0, end)) + "\xE2\x80\xA6";
}

Json Rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  constexpr int kDigits = 6;
  std::array<char, 32> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size(), value,
                                  std::chars_format::general, kDigits)
                        .ptr;
  double rounded = value;
  (void)std::from_chars(text.data(), end, rounded);
  return rounded;
}

}  // namespace ctxfs
