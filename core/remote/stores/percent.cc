// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/percent.h"

#include <cctype>

namespace ctxfs::remote {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool IsAlphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 &&
         static_cast<unsigned char>(c) < 0x80;
}

std::string Encoded(std::string_view text, std::string_view plain) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsAlphanumeric(c) || std::string_view("-._~").find(c) != text.npos ||
        plain.find(c) != plain.npos) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return encoded;
}

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && text.size() - i > 2 &&
                        DigitOf(text[i + 1]) >= 0 && DigitOf(text[i + 2]) >= 0;
    if (!escape) {
      decoded += text[i];
      continue;
    }
    decoded +=
        static_cast<char>(DigitOf(text[i + 1]) * 16 + DigitOf(text[i + 2]));
    i += 2;
  }
  return decoded;
}

}  // namespace ctxfs::remote
