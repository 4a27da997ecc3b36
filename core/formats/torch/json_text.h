// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs::torch {

/// JSON text that is written token by token, up to a limit. Beyond it nothing
/// is added, and full() is true. A disabled one stays empty.
class JsonText {
 public:
  JsonText(bool enabled, uint64_t limit) : enabled_(enabled), limit_(limit) {}

  bool full() const { return full_; }
  std::string Take() { return std::move(text_); }

  void Put(std::string_view raw) {
    if (HasRoom(raw)) text_ += raw;
  }
  void Integer(int64_t value);  // a string beyond +/-(2^53 - 1)
  void BigInteger(std::string_view twos_complement);
  void Float(double value);  // null unless finite
  void String(std::string_view text);
  void Base64(std::string_view bytes);
  /// Puts `"key":`.
  void Key(std::string_view key) {
    String(key);
    Put(":");
  }

 private:
  /// Whether as many bytes as `text` has can be added; full if not.
  bool HasRoom(std::string_view text) {
    if (!enabled_ || full_) return false;
    full_ = text.size() > limit_ - text_.size();
    return !full_;
  }

  const bool enabled_;
  const uint64_t limit_;
  bool full_ = false;
  std::string text_;
};

/// The decimal digits of a little-endian two's complement integer.
std::string DecimalDigits(std::string_view twos_complement);

}  // namespace ctxfs::torch
