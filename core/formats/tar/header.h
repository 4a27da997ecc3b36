// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs::tar {

constexpr uint64_t kBlock = 512;

/// `size` rounded up to whole blocks; `size` is below 2^63.
constexpr uint64_t Padded(uint64_t size) {
  return (size + kBlock - 1) / kBlock * kBlock;
}

/// A header (docs/formats/tar.md, section 2): the view of a block of 512 bytes,
/// which outlives it.
class Header {
 public:
  explicit Header(Bytes block) : block_(block) {}

  /// Whether the block is nothing but zeros.
  bool IsZero() const;

  /// Whether the checksum field is the sum of the block's bytes, signed or
  /// unsigned (section 4).
  bool HasRightChecksum() const;

  char type() const { return static_cast<char>(block_[kTypeAt]); }
  /// Up to the first NUL, or all of the field.
  std::string_view name() const { return Text(0, 100); }
  std::string_view link() const { return Text(157, 100); }
  /// Prefix and name if the header has a prefix (section 2), otherwise the name
  /// alone.
  std::string path() const;

  /// Bytes of data (section 3). Fails with kCorrupt for text that is not an
  /// octal number, and for a number that is negative or not below 2^63.
  Result<uint64_t> size() const;

  /// The modification time, in whole seconds since 1970; nothing for text that
  /// is not a number.
  std::optional<int64_t> mtime() const;
  /// The permission bits; nothing for text that is not an octal number.
  std::optional<uint16_t> mode() const;

  Bytes block() const { return block_; }

  /// "ustar", "gnu" or "v7".
  std::string_view dialect() const;

 private:
  static constexpr size_t kTypeAt = 156;

  std::string_view Text(size_t at, size_t length) const;

  Bytes block_;
};

/// Parses a field of a header: octal text, or base 256 (section 3). Fails with
/// kCorrupt for other text, and for a number that is negative or not below
/// 2^63.
Result<uint64_t> ParseNumber(Bytes field);

/// Whether `head` starts with a header that makes a file an archive
/// (section 4).
bool IsArchiveHead(Bytes head);

}  // namespace ctxfs::tar
