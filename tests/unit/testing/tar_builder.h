// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ctxfs {

/// Makes archives of tar, block by block.
class TarBuilder {
 public:
  /// A header with whatever its fields hold; the checksum is made right.
  struct Header {
    std::string name = "f";
    char type = '0';
    std::string size = "00000000000";  // the field's bytes
    std::string link;
    std::string prefix;
    std::string_view magic = std::string_view(
        "ustar\0"
        "00",
        8);
  };

  TarBuilder& AddHeader(const Header& header) {
    std::string block(512, '\0');
    const auto put = [&block](size_t at, std::string_view bytes) {
      block.replace(at, bytes.size(), bytes);
    };
    put(0, header.name);
    put(124, header.size);
    put(148, "        ");
    block[156] = header.type;
    put(157, header.link);
    put(257, header.magic);
    put(345, header.prefix);
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    char text[8];
    std::snprintf(text, sizeof(text), "%06o", sum & 0xFFFFFU);
    put(148, std::string_view(text, 7));
    bytes_ += block;
    return *this;
  }
  TarBuilder& AddHeader(const std::string& name, char type, uint64_t size,
                        const std::string& link = "") {
    return AddHeader({name, type, Octal(size), link, ""});
  }

  /// Data, filled up to a whole block.
  TarBuilder& AddData(std::string_view data) {
    bytes_ += data;
    bytes_.append((512 - data.size() % 512) % 512, '\0');
    return *this;
  }
  TarBuilder& Add(const std::string& name, std::string_view data,
                  char type = '0') {
    return AddHeader(name, type, data.size()).AddData(data);
  }
  TarBuilder& AddPax(std::string_view key, std::string_view value,
                     char type = 'x') {
    return Add("pax", PaxRecord(key, value), type);
  }
  TarBuilder& AddBytes(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  TarBuilder& AddZeros(size_t blocks = 2) {
    bytes_.append(512 * blocks, '\0');
    return *this;
  }

  static std::string PaxRecord(std::string_view key, std::string_view value) {
    const std::string tail =
        " " + std::string(key) + "=" + std::string(value) + "\n";
    size_t length = tail.size() + 1;
    while (std::to_string(length).size() + tail.size() != length) ++length;
    return std::to_string(length) + tail;
  }
  static std::string Octal(uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof(text), "%011llo",
                  static_cast<unsigned long long>(number));
    return text;
  }

  std::string bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace ctxfs
