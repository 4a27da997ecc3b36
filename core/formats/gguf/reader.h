// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// Number format of a GGUF file (docs/formats/gguf.md, section 2).
struct GgufLayout {
  bool big_endian = false;
  /// Version 1: counts, lengths and dimensions have 4 bytes.
  bool narrow = false;

  uint64_t count_bytes() const { return narrow ? 4 : 8; }
};

/// Reads fields of a file in order, through a window of bytes. Like ByteReader,
/// fails at the first missing field; all later fields read as zero.
class GgufReader {
 public:
  /// Reads `window` bytes at a time; `window` must be at least 8. A small
  /// window is cheaper for a single value. `source` and `request` must outlive
  /// this object.
  GgufReader(const Source& source, const GgufLayout& layout, uint64_t at,
             const Request& request, uint64_t window = 256 * 1024)
      : source_(source),
        request_(request),
        layout_(layout),
        window_bytes_(window),
        at_(at) {}

  /// Window size for reading a single value.
  static constexpr uint64_t kSmallWindow = 64;

  uint8_t U8() { return Field<uint8_t>(); }
  uint16_t U16() { return Field<uint16_t>(); }
  uint32_t U32() { return Field<uint32_t>(); }
  uint64_t U64() { return Field<uint64_t>(); }
  /// Reads a count, a length or a dimension.
  uint64_t Count() { return layout_.narrow ? U32() : U64(); }

  void Skip(uint64_t bytes);
  void Seek(uint64_t at) { at_ = at; }
  /// Appends `bytes` bytes. The caller must have checked `bytes` against a
  /// limit.
  void Append(uint64_t bytes, std::string& text);

  bool ok() const { return !error_; }
  /// kCorrupt at the end of the file; else the error of a read or allocation.
  const Error& error() const { return *error_; }
  uint64_t at() const { return at_; }
  uint64_t remaining() const {
    return at_ <= source_.size() ? source_.size() - at_ : 0;
  }

 private:
  template <typename T>
  T Field() {
    const std::byte* bytes = Window(sizeof(T));
    if (bytes == nullptr) return 0;
    at_ += sizeof(T);
    if (!layout_.big_endian) return LoadLe<T>(bytes);
    std::array<std::byte, sizeof(T)> swapped;
    std::reverse_copy(bytes, bytes + sizeof(T), swapped.begin());
    return LoadLe<T>(swapped.data());
  }
  /// Returns the next `bytes` bytes (<= window_bytes_); null after a failure.
  const std::byte* Window(uint64_t bytes);
  void Truncated();

  const Source& source_;
  const Request& request_;
  const GgufLayout layout_;
  const uint64_t window_bytes_;
  uint64_t at_;
  Buffer window_;
  uint64_t window_at_ = 0;
  std::optional<Error> error_;
};

}  // namespace ctxfs::gguf
