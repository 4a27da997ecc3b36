// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace ctxfs {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Converts a number between the machine's byte order and little-endian.
/// Compiles to at most a swap.
template <typename T>
std::array<std::byte, sizeof(T)> LittleEndian(const void* p) {
  static_assert(std::is_arithmetic_v<T>);
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), p, sizeof(T));
  if constexpr (std::endian::native != std::endian::little) {
    std::reverse(bytes.begin(), bytes.end());
  }
  return bytes;
}

/// Reads a little-endian T, an integer or a float, at `p`.
template <typename T>
T LoadLe(const std::byte* p) {
  return std::bit_cast<T>(LittleEndian<T>(p));
}

template <typename T>
void StoreLe(T value, std::byte* p) {
  const auto bytes = LittleEndian<T>(&value);
  std::memcpy(p, bytes.data(), sizeof(T));
}

/// Appends `value` to `text`, little-endian.
template <typename T>
void AppendLe(T value, std::string& text) {
  text += AsText(LittleEndian<T>(&value));
}

/// Whether [offset, offset + length) lies within [0, size). Ranges that a file
/// declares must be checked with this: it subtracts, so nothing can wrap.
constexpr bool InBounds(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Owned, uninitialised bytes: code that makes a Buffer either fills all of it
/// or fails. The memory of large Buffers is reused.
class Buffer {
 public:
  /// Frees memory that does not come from operator new.
  using Free = void (*)(std::byte* bytes, size_t size);

  Buffer() = default;
  explicit Buffer(size_t size);
  /// Takes ownership of `size` bytes, which the destructor passes to `free`.
  Buffer(std::byte* bytes, size_t size, Free free)
      : bytes_(bytes, Release{free, size}), size_(size) {}

  size_t size() const { return size_; }
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  MutableBytes span() { return {bytes_.get(), size_}; }
  Bytes span() const { return {bytes_.get(), size_}; }

 private:
  struct Release {
    Free free;  // null: delete[]
    size_t size;
    void operator()(std::byte* bytes) const {
      free != nullptr ? free(bytes, size) : delete[] bytes;
    }
  };

  std::unique_ptr<std::byte[], Release> bytes_;
  size_t size_ = 0;
};

Buffer BufferOf(std::string_view text);

/// Bounds the spare memory: the memory of freed large Buffers that is kept for
/// new ones. The bound is at most 32 MiB, which is the default. No cache counts
/// spare memory.
void BoundSpareMemory(size_t bytes);
/// Frees the spare memory. Must be called before work that may need its whole
/// HeapAllowance, because spare memory comes on top of that.
void FreeSpareMemory();

/// Reads little-endian fields in order. The first field that does not fit fails
/// the reader for good: later getters return zero and do not advance. So code
/// that reads a header needs only one test of ok(), before it uses the fields.
class ByteReader {
 public:
  /// `file_offset` is the offset of `bytes` in the container.
  explicit ByteReader(Bytes bytes, uint64_t file_offset = 0)
      : bytes_(bytes), file_offset_(file_offset) {}

  uint8_t U8() { return Field<uint8_t>(); }
  uint16_t U16() { return Field<uint16_t>(); }
  uint32_t U32() { return Field<uint32_t>(); }
  uint64_t U64() { return Field<uint64_t>(); }

  /// Unsigned LEB128 of at most 64 bits.
  uint64_t Uvarint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint64_t byte = U8();
      // The tenth byte has room for one bit.
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return ok_ ? value : 0;
    }
    ok_ = false;
    return 0;
  }

  /// The next `n` bytes; empty after a failure.
  Bytes Take(uint64_t n) {
    if (!ok_ || n > remaining()) {
      ok_ = false;
      return {};
    }
    const Bytes taken = bytes_.subspan(at_, static_cast<size_t>(n));
    at_ += static_cast<size_t>(n);
    return taken;
  }
  void Skip(uint64_t n) { (void)Take(n); }

  bool ok() const { return ok_; }
  uint64_t remaining() const { return bytes_.size() - at_; }
  /// Returns the offset in the container of the next field.
  uint64_t offset() const { return file_offset_ + at_; }

 private:
  template <typename T>
  T Field() {
    const Bytes field = Take(sizeof(T));
    return ok_ ? LoadLe<T>(field.data()) : T{0};
  }

  Bytes bytes_;
  uint64_t file_offset_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace ctxfs
