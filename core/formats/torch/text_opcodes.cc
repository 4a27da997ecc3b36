// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/text_opcodes.h"

#include <algorithm>

#include "core/base/text/whole_number.h"

namespace ctxfs::torch {
namespace {

/// Parses `digits` digits of base `base` at `at`; nullopt if there are fewer.
std::optional<uint32_t> Digits(std::string_view text, size_t at, size_t digits,
                               int base) {
  if (at > text.size() || text.size() - at < digits) return std::nullopt;
  return WholeNumber<uint32_t>(text.substr(at, digits), base);
}

void AppendUtf8(uint32_t point, std::string& text) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80 | (point >> shift & 0x3F));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0 | point >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Returns the character for a backslash and `letter`; else nullopt.
std::optional<char> SimpleEscape(char letter) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kMeant = "\\'\"\a\b\f\n\r\t\v";
  const size_t at = kLetters.find(letter);
  if (at == std::string_view::npos) return std::nullopt;
  return kMeant[at];
}

/// Returns the number of octal digits from `at` on, at most three.
size_t OctalDigits(std::string_view text, size_t at) {
  size_t count = 0;
  while (count < 3 && at + count < text.size() && text[at + count] >= '0' &&
         text[at + count] <= '7') {
    ++count;
  }
  return count;
}

}  // namespace

std::optional<std::string> QuotedText(std::string_view line) {
  if (line.size() < 2 || line.front() != line.back() ||
      (line.front() != '\'' && line.front() != '"')) {
    return std::nullopt;
  }
  line = line.substr(1, line.size() - 2);
  std::string text;
  for (size_t at = 0; at < line.size();) {
    if (line[at] != '\\') {
      text += line[at++];
      continue;
    }
    if (at + 1 == line.size()) return std::nullopt;
    if (const auto meant = SimpleEscape(line[at + 1])) {
      text += *meant;
      at += 2;
    } else if (line[at + 1] == 'x') {
      const auto byte = Digits(line, at + 2, 2, 16);
      if (!byte) return std::nullopt;
      text += static_cast<char>(*byte);
      at += 4;
    } else if (const size_t digits = OctalDigits(line, at + 1); digits > 0) {
      text += static_cast<char>(*Digits(line, at + 1, digits, 8) & 0xFF);
      at += 1 + digits;
    } else {
      text += line[at++];  // Python keeps this backslash
    }
  }
  return text;
}

std::optional<std::string> EscapedText(std::string_view line) {
  std::string text;
  for (size_t at = 0; at < line.size();) {
    const bool escape = line[at] == '\\' && at + 1 < line.size() &&
                        (line[at + 1] == 'u' || line[at + 1] == 'U');
    if (line[at] == '\\' && !escape) {
      // After an escaped backslash, 'u' does not start an escape.
      text += line[at++];
      if (at < line.size() && line[at] == '\\') text += line[at++];
      continue;
    }
    if (!escape) {
      AppendUtf8(static_cast<unsigned char>(line[at++]), text);
      continue;
    }
    const size_t digits = line[at + 1] == 'u' ? 4 : 8;
    const auto point = Digits(line, at + 2, digits, 16);
    if (!point || *point > 0x10FFFF) return std::nullopt;
    AppendUtf8(*point, text);
    at += 2 + digits;
  }
  return text;
}

std::optional<uint64_t> PlainNumber(std::string_view line) {
  constexpr size_t kMaxDigits = 19;
  const bool plain = std::all_of(line.begin(), line.end(),
                                 [](char c) { return c >= '0' && c <= '9'; });
  if (line.empty() || line.size() > kMaxDigits || !plain) return std::nullopt;
  return WholeNumber<uint64_t>(line);
}

}  // namespace ctxfs::torch
