// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/header_search.h"

#include <algorithm>
#include <array>

#include "core/base/limits.h"
#include "core/codec/checksum.h"

namespace ctxfs::tfrecord {
namespace {

constexpr size_t kLengthSize = 8;
// Bytes of the first and of the longest read: the next header is mostly near,
// and a file may have a gap after each record.
constexpr uint64_t kFirstPiece = 512;
constexpr uint64_t kPiece = 256 * limits::kKiB;

using Table = std::array<uint32_t, 256>;

/// The remainder of CRC-32C after one more byte.
constexpr uint32_t Step(const Table& table, uint32_t remainder, uint8_t byte) {
  return table[(remainder ^ byte) & 0xFF] ^ remainder >> 8;
}

/// The remainders of single bytes.
constexpr Table kSteps = [] {
  constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
  Table table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = remainder;
  }
  return table;
}();

/// The remainders of a byte and kLengthSize zeros after it: what a byte still
/// contributes when it leaves the window.
constexpr Table kLeaving = [] {
  Table table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t remainder = kSteps[byte];
    for (size_t i = 0; i < kLengthSize; ++i) {
      remainder = Step(kSteps, remainder, 0);
    }
    table[byte] = remainder;
  }
  return table;
}();

/// The CRC-32C of the last kLengthSize bytes of a stream. A CRC is linear: the
/// remainder of bytes is the sum of the remainders of each, so that one byte
/// enters and one leaves in a few instructions.
class RollingCrc {
 public:
  /// `first` has kLengthSize bytes.
  explicit RollingCrc(Bytes first) {
    for (const std::byte byte : first) {
      remainder_ = Step(kSteps, remainder_, std::to_integer<uint8_t>(byte));
    }
  }

  void Move(std::byte leaving, std::byte entering) {
    remainder_ = Step(kSteps, remainder_, std::to_integer<uint8_t>(entering)) ^
                 kLeaving[std::to_integer<uint8_t>(leaving)];
  }

  uint32_t value() const { return remainder_ ^ of_zeros_; }

 private:
  uint32_t remainder_ = 0;
  const uint32_t of_zeros_ = Crc32c(std::array<std::byte, kLengthSize>{});
};

/// Returns the first header in `piece`, which is at `at` of the source, or the
/// number of offsets at which none can begin.
size_t FindIn(Bytes piece, uint64_t at, uint64_t size) {
  const size_t end = piece.size() - kHeaderSize + 1;
  RollingCrc crc(piece.first(kLengthSize));
  for (size_t i = 0; i < end; ++i) {
    const std::byte* const here = piece.data() + i;
    const uint64_t room = size - at - i;
    if (LoadLe<uint32_t>(here + kLengthSize) == Mask(crc.value()) &&
        room >= kAround && LoadLe<uint64_t>(here) <= room - kAround) {
      return i;
    }
    crc.Move(here[0], here[kLengthSize]);
  }
  return end;
}

}  // namespace

bool StartsWithHeader(Bytes head) {
  return head.size() >= kHeaderSize &&
         LoadLe<uint32_t>(head.data() + kLengthSize) ==
             Mask(Crc32c(head.first(kLengthSize)));
}

Result<uint64_t> FindHeader(const Source& source, uint64_t at,
                            const ReadContext& context) {
  const uint64_t size = source.size();
  uint64_t most = kFirstPiece;
  while (at < size && size - at >= kHeaderSize) {
    CTXFS_TRY(context.Check());
    const Buffer piece = CTXFS_TRY(
        ReadBuffer(source, at, std::min(size - at, most), "records", context));
    const size_t found = FindIn(piece.span(), at, size);
    at += found;
    most = std::min(2 * most, kPiece);
    if (found <= piece.size() - kHeaderSize) return at;
  }
  return size;
}

}  // namespace ctxfs::tfrecord
