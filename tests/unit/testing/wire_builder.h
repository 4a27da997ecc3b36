// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ctxfs {

/// Makes messages of protobuf, field by field.
class Wire {
 public:
  static std::string Varint(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) {
      bytes += static_cast<char>(value | 0x80U);
    }
    return bytes += static_cast<char>(value);
  }

  Wire& Tag(uint64_t number, unsigned type) {
    bytes_ += Varint(number << 3 | type);
    return *this;
  }
  Wire& Number(uint64_t number, uint64_t value) {
    return Tag(number, 0).Raw(Varint(value));
  }
  Wire& Bytes(uint64_t number, std::string_view bytes) {
    return Tag(number, 2).Raw(Varint(bytes.size())).Raw(bytes);
  }
  Wire& Message(uint64_t number, const Wire& message) {
    return Bytes(number, message.bytes_);
  }
  Wire& Float(uint64_t number, float value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    return Tag(number, 5).Raw({bytes, sizeof(bytes)});
  }
  Wire& Raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace ctxfs
