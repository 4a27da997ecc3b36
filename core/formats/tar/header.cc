// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/header.h"

#include <algorithm>
#include <optional>

namespace ctxfs::tar {
namespace {

constexpr size_t kChecksumAt = 148;
constexpr size_t kChecksumSize = 8;
constexpr size_t kModeAt = 100;
constexpr size_t kModeSize = 8;
constexpr size_t kSizeAt = 124;
constexpr size_t kSizeSize = 12;
constexpr size_t kMtimeAt = 136;
constexpr size_t kMtimeSize = 12;
constexpr size_t kMagicAt = 257;
constexpr size_t kPrefixAt = 345;
constexpr size_t kPrefixSize = 155;
constexpr size_t kGnuTimeSize = 12;
constexpr std::string_view kPosixMagic("ustar\0", 6);
constexpr std::string_view kGnuMagic("ustar ", 6);

/// Parses octal text (docs/formats/tar.md, section 3); nullopt if it has other
/// characters.
std::optional<uint64_t> Octal(std::string_view field) {
  field = field.substr(0, field.find('\0'));
  const size_t first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return 0;
  field = field.substr(first);
  uint64_t value = 0;  // at most 12 digits: 36 bits
  for (const char c : field.substr(0, field.find(' '))) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

/// Whether the prefix field of a GNU header holds a prefix instead of GNU's two
/// times. Go before 1.8 wrote prefixes there.
bool IsPrefixInGnuHeader(std::string_view prefix) {
  const bool are_times = Octal(prefix.substr(0, kGnuTimeSize)) &&
                         (prefix.size() <= kGnuTimeSize ||
                          Octal(prefix.substr(kGnuTimeSize, kGnuTimeSize)));
  return !are_times && std::all_of(prefix.begin(), prefix.end(),
                                   [](char c) { return c >= ' ' && c <= '~'; });
}

/// Sums the bytes as type `Byte`: signed or unsigned.
template <typename Byte>
int64_t Sum(Bytes bytes) {
  int32_t sum = 0;  // of 512 bytes
  for (const std::byte b : bytes) sum += static_cast<Byte>(b);
  return sum;
}

Error BadSize(const char* why) {
  return {Code::kCorrupt, std::string("size: the size of a member ") + why};
}

}  // namespace

bool Header::IsZero() const {
  return std::all_of(block_.begin(), block_.end(),
                     [](std::byte b) { return b == std::byte{0}; });
}

bool Header::HasRightChecksum() const {
  const std::optional<uint64_t> stored =
      Octal(AsText(block_.subspan(kChecksumAt, kChecksumSize)));
  if (!stored) return false;
  // Opening an archive spends most of its time here: plain loops, which
  // compilers vectorise, sum the whole block, and the field is replaced by
  // blanks afterwards.
  const Bytes field = block_.subspan(kChecksumAt, kChecksumSize);
  const int64_t blanks = int64_t{' '} * int64_t{kChecksumSize};
  const auto wanted = static_cast<int64_t>(*stored);
  if (wanted == Sum<uint8_t>(block_) - Sum<uint8_t>(field) + blanks) {
    return true;
  }
  return wanted == Sum<int8_t>(block_) - Sum<int8_t>(field) + blanks;
}

std::string_view Header::Text(size_t at, size_t length) const {
  const std::string_view field = AsText(block_.subspan(at, length));
  return field.substr(0, field.find('\0'));
}

std::string_view Header::dialect() const {
  const std::string_view magic =
      AsText(block_.subspan(kMagicAt, kPosixMagic.size()));
  if (magic == kPosixMagic) return "ustar";
  return magic == kGnuMagic ? "gnu" : "v7";
}

std::string Header::path() const {
  const std::string_view prefix = Text(kPrefixAt, kPrefixSize);
  const bool has_prefix =
      !prefix.empty() && (dialect() == "ustar" ||
                          (dialect() == "gnu" && IsPrefixInGnuHeader(prefix)));
  std::string path;
  if (has_prefix) {
    path = prefix;
    path += '/';
  }
  return path += name();
}

Result<uint64_t> Header::size() const {
  return ParseNumber(block_.subspan(kSizeAt, kSizeSize));
}

std::optional<int64_t> Header::mtime() const {
  const Bytes field = block_.subspan(kMtimeAt, kMtimeSize);
  if (field[0] == std::byte{0xFF}) {  // negative, in base 256
    uint64_t value = ~uint64_t{0};
    for (const std::byte b : field.subspan(1)) {
      value = value << 8 | std::to_integer<uint64_t>(b);
    }
    return static_cast<int64_t>(value);
  }
  const Result<uint64_t> value = ParseNumber(field);
  if (!value) return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::optional<uint16_t> Header::mode() const {
  constexpr uint64_t kPermissions = 0777;
  const std::optional<uint64_t> mode =
      Octal(AsText(block_.subspan(kModeAt, kModeSize)));
  if (!mode) return std::nullopt;
  return static_cast<uint16_t>(*mode & kPermissions);
}

Result<uint64_t> ParseNumber(Bytes field) {
  if (field[0] == std::byte{0xFF}) return BadSize("is negative");
  if (field[0] != std::byte{0x80}) {
    const std::optional<uint64_t> octal = Octal(AsText(field));
    if (!octal) return BadSize("is not an octal number");
    return *octal;
  }
  uint64_t value = 0;
  for (const std::byte b : field.subspan(1)) {
    if (value >> 55 != 0) return BadSize("is 2^63 bytes or more");
    value = value << 8 | std::to_integer<uint64_t>(b);
  }
  return value;
}

bool IsArchiveHead(Bytes head) {
  if (head.size() < kBlock) return false;
  const Header header(head.first(kBlock));
  return !header.path().empty() && header.HasRightChecksum();
}

}  // namespace ctxfs::tar
