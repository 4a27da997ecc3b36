// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/json_text.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <new>

#include "core/base/json.h"
#include "core/base/text.h"

namespace ctxfs::torch {
namespace {

// Most readers of JSON use doubles, which are inexact for larger integers.
constexpr int64_t kMostExact = (int64_t{1} << 53) - 1;

}  // namespace

std::string DecimalDigits(std::string_view twos_complement) {
  std::string magnitude(twos_complement);
  const bool negative = !magnitude.empty() && (magnitude.back() & 0x80) != 0;
  if (negative) {
    unsigned carry = 1;
    for (char& c : magnitude) {
      const unsigned sum = (~static_cast<unsigned char>(c) & 0xFFU) + carry;
      c = static_cast<char>(sum & 0xFF);
      carry = sum >> 8;
    }
  }
  const std::unique_ptr<BIGNUM, void (*)(BIGNUM*)> number(
      BN_lebin2bn(reinterpret_cast<const unsigned char*>(magnitude.data()),
                  static_cast<int>(magnitude.size()), nullptr),
      &BN_free);
  if (number == nullptr) throw std::bad_alloc();
  char* digits = BN_bn2dec(number.get());
  if (digits == nullptr) throw std::bad_alloc();
  std::string text = negative ? "-" : "";
  text += digits;
  OPENSSL_free(digits);
  return text;
}

void JsonText::Integer(int64_t value) {
  const std::string digits = std::to_string(value);
  if (value >= -kMostExact && value <= kMostExact) return Put(digits);
  String(digits);
}

void JsonText::BigInteger(std::string_view twos_complement) {
  if (HasRoom(twos_complement)) String(DecimalDigits(twos_complement));
}

void JsonText::Float(double value) {
  if (!std::isfinite(value)) return Put("null");
  char text[40];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  const std::string_view digits(text, static_cast<size_t>(end - text));
  Put(digits);
  if (digits.find_first_of(".e") == std::string_view::npos) Put(".0");
}

void JsonText::String(std::string_view text) {
  // Escaping never shortens a text, so one that is too long need not be
  // escaped.
  if (HasRoom(text)) Put(JsonLine(text));
}

void JsonText::Base64(std::string_view bytes) {
  if (HasRoom(bytes)) Put("\"" + ctxfs::Base64(bytes) + "\"");
}

}  // namespace ctxfs::torch
