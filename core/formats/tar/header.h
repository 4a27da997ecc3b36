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

/// Returns `size` rounded up to whole blocks; `size` must be below 2^63.
constexpr uint64_t Padded(uint64_t size) {
  return (size + kBlock - 1) / kBlock * kBlock;
}

/// A view of a 512-byte header block (docs/formats/tar.md, section 2). The
/// block must outlive it.
class Header {
 public:
  explicit Header(Bytes block) : block_(block) {}

  bool IsZero() const;

  /// Whether the checksum field is the sum of the block's bytes, as signed or
  /// unsigned bytes (section 4).
  bool HasRightChecksum() const;

  char type() const { return static_cast<char>(block_[kTypeAt]); }
  /// Return a field's text up to the first NUL.
  std::string_view name() const { return Text(0, 100); }
  std::string_view link() const { return Text(157, 100); }
  /// Returns prefix and name, or the name alone if there is no prefix (section
  /// 2).
  std::string path() const;

  /// Returns the number of bytes of data (section 3). Fails with kCorrupt if
  /// the text is not octal, or the number is not in [0, 2^63).
  Result<uint64_t> size() const;

  /// Returns the modification time, seconds since 1970; nullopt if malformed.
  std::optional<int64_t> mtime() const;
  /// Returns the permission bits; nullopt if the text is not octal.
  std::optional<uint16_t> mode() const;

  Bytes block() const { return block_; }

  /// Returns "ustar", "gnu" or "v7".
  std::string_view dialect() const;

 private:
  static constexpr size_t kTypeAt = 156;

  std::string_view Text(size_t at, size_t length) const;

  Bytes block_;
};

/// Parses a header field: octal text or base 256 (section 3). Fails with
/// kCorrupt for other text, and if the number is not in [0, 2^63).
Result<uint64_t> ParseNumber(Bytes field);

/// Whether `head` starts with a header of an archive (section 4).
bool IsArchiveHead(Bytes head);

}  // namespace ctxfs::tar
