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

/// How the numbers of a GGUF file are stored (docs/formats/gguf.md, section 2).
struct GgufLayout {
  bool big_endian = false;
  /// Counts, lengths and dimensions have 4 bytes: version 1.
  bool narrow = false;

  uint64_t count_bytes() const { return narrow ? 4 : 8; }
};

/// Reads a file from front to back, some KiB at a time. Like ByteReader, it
/// fails at the first field that is missing; all fields after that are zero.
class GgufReader {
 public:
  /// Reads `window` bytes at a time, which must be at least 8. To read a single
  /// value, a small window saves work.
  /// `source` and `request` outlive this object.
  GgufReader(const Source& source, const GgufLayout& layout, uint64_t at,
             const Request& request, uint64_t window = 256 * 1024)
      : source_(source),
        request_(request),
        layout_(layout),
        window_bytes_(window),
        at_(at) {}

  /// A window for reading a single value.
  static constexpr uint64_t kSmallWindow = 64;

  uint8_t U8() { return Field<uint8_t>(); }
  uint16_t U16() { return Field<uint16_t>(); }
  uint32_t U32() { return Field<uint32_t>(); }
  uint64_t U64() { return Field<uint64_t>(); }
  /// A count, a length or a dimension.
  uint64_t Count() { return layout_.narrow ? U32() : U64(); }

  void Skip(uint64_t bytes);
  /// Continues at byte `at`.
  void Seek(uint64_t at) { at_ = at; }
  /// Appends `bytes` bytes. The caller has compared `bytes` with a limit.
  void Append(uint64_t bytes, std::string& text);

  bool ok() const { return !error_; }
  /// kCorrupt if the file ended, or the error of the read that failed or of the
  /// memory that was missing.
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
  /// The next `bytes` bytes, at most window_bytes_; null after a failure.
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
