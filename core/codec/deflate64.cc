// SPDX-License-Identifier: Apache-2.0
//
// A decoder of Deflate64, which no library of Debian has. Deflate64 is deflate
// (RFC 1951) with a window of 64 KiB, distances of up to 64 KiB, and lengths of
// up to 65,538.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/codec/stream.h"

namespace ctxfs {
namespace {

constexpr unsigned kMaxBits = 15;
constexpr unsigned kFastBits = 10;
constexpr size_t kLiterals = 288;
constexpr size_t kDistances = 32;
constexpr unsigned kEndOfBlock = 256;
constexpr unsigned kLastLength = 285;

/// The length or distance of a symbol: `base`, plus the number in the next
/// `extra` bits.
struct Range64 {
  uint32_t base;
  unsigned extra;
};

constexpr std::array<Range64, 29> kLengths = {
    {{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},
     {9, 0},   {10, 0},  {11, 1},  {13, 1},  {15, 1}, {17, 1},
     {19, 2},  {23, 2},  {27, 2},  {31, 2},  {35, 3}, {43, 3},
     {51, 3},  {59, 3},  {67, 4},  {83, 4},  {99, 4}, {115, 4},
     {131, 5}, {163, 5}, {195, 5}, {227, 5}, {3, 16}}};

/// Returns the range of a distance symbol. From symbol 4 on, there are two
/// symbols for each number of extra bits.
constexpr Range64 DistanceOf(unsigned symbol) {
  if (symbol < 4) return {symbol + 1, 0};
  const unsigned extra = symbol / 2 - 1;
  return {((2 + symbol % 2) << extra) + 1, extra};
}

/// A Huffman code. Codes of up to kFastBits bits use a look-up table; longer
/// codes are found by counting the codes of each length.
struct Code64 {
  std::array<uint16_t, kMaxBits + 1> count{};    // codes of each length
  std::array<uint16_t, kLiterals> symbols{};     // ordered by code
  std::array<uint16_t, 1U << kFastBits> fast{};  // symbol * 16 + length, or 0

  /// Builds the code from the length of each symbol's code; 0: the symbol has
  /// none. Returns whether the lengths are valid: the code must be complete, or
  /// have at most one symbol, whose code has one bit.
  bool Make(std::span<const uint8_t> lengths);
};

uint32_t Reversed(uint32_t code, unsigned bits) {
  uint32_t reversed = 0;
  for (unsigned i = 0; i < bits; ++i) {
    reversed = reversed << 1 | (code >> i & 1);
  }
  return reversed;
}

bool Code64::Make(std::span<const uint8_t> lengths) {
  *this = {};
  for (const uint8_t length : lengths) ++count[length];
  const size_t used = lengths.size() - count[0];
  count[0] = 0;
  int32_t left = 1;  // unused codes of the length
  std::array<uint16_t, kMaxBits + 2> place{};
  std::array<uint32_t, kMaxBits + 2> next{};
  for (unsigned bits = 1; bits <= kMaxBits; ++bits) {
    left = 2 * left - count[bits];
    if (left < 0) return false;
    place[bits + 1] = static_cast<uint16_t>(place[bits] + count[bits]);
    next[bits + 1] = (next[bits] + count[bits]) << 1;
  }
  if (left > 0 && used != 0 && (used != 1 || count[1] != 1)) return false;
  for (size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const unsigned bits = lengths[symbol];
    if (bits == 0) continue;
    symbols[place[bits]++] = static_cast<uint16_t>(symbol);
    const uint32_t code = Reversed(next[bits]++, bits);
    if (bits > kFastBits) continue;
    for (uint32_t at = code; at < fast.size(); at += 1U << bits) {
      fast[at] = static_cast<uint16_t>(symbol * 16 + bits);
    }
  }
  return true;
}

/// Reads bits, lowest first. Fails for good at the end of the stream, and
/// returns zeros from then on.
class BitReader64 {
 public:
  BitReader64(const NextBytes& next, const Interrupt& interrupt)
      : next_(next), interrupt_(interrupt) {}

  const Status& status() const { return status_; }
  bool ok() const { return static_cast<bool>(status_); }
  void Fail(const char* why) {
    if (ok()) Stop({Code::kCorrupt, std::string("deflate64: ") + why});
  }

  /// The next `bits` bits, at most 16.
  uint32_t Take(unsigned bits) {
    Fill(bits);
    if (bits > held_) {
      Fail("the stream is cut off");
      return 0;
    }
    const auto value = static_cast<uint32_t>(bits_ & ((1U << bits) - 1));
    Drop(bits);
    return value;
  }

  unsigned Symbol(const Code64& code) {
    Fill(kMaxBits);
    const unsigned found = code.fast[bits_ & (code.fast.size() - 1)];
    if (found != 0 && found % 16 <= held_) {
      Drop(found % 16);
      return found / 16;
    }
    return LongSymbol(code);
  }

  void SkipToByte() { Drop(held_ % 8); }

 private:
  unsigned LongSymbol(const Code64& code) {
    uint32_t value = 0;
    uint32_t first = 0;
    uint32_t place = 0;
    for (unsigned bits = 1; bits <= kMaxBits && bits <= held_; ++bits) {
      value |= bits_ >> (bits - 1) & 1;
      const uint32_t count = code.count[bits];
      if (value < first + count) {
        Drop(bits);
        return code.symbols[place + value - first];
      }
      place += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    Fail(held_ < kMaxBits ? "the stream is cut off" : "invalid symbol");
    return 0;
  }

  /// Reads until `bits` bits are held or the stream ends.
  void Fill(unsigned bits) {
    while (held_ < bits && ok()) {
      if (in_.empty() && !Refill()) return;
      bits_ |= static_cast<uint64_t>(in_.front()) << held_;
      held_ += 8;
      in_ = in_.subspan(1);
    }
  }
  bool Refill() {
    if (Status wanted = interrupt_.Check(); !wanted) {
      Stop(std::move(wanted).error());
      return false;
    }
    Result<Bytes> more = next_();
    if (!more) {
      Stop(std::move(more).error());
      return false;
    }
    in_ = *more;
    return !in_.empty();
  }
  void Stop(Error error) {
    status_ = std::move(error);
    held_ = 0;
    bits_ = 0;
  }
  void Drop(unsigned bits) {
    bits_ >>= bits;
    held_ -= bits;
  }

  const NextBytes& next_;
  const Interrupt& interrupt_;
  Status status_;
  Bytes in_;
  uint64_t bits_ = 0;  // unread bits, lowest first
  unsigned held_ = 0;  // number of unread bits
};

class Inflater64 {
 public:
  Inflater64(const NextBytes& next, uint64_t size, const ByteSink& sink,
             const Interrupt& interrupt)
      : in_(next, interrupt),
        output_("deflate64", size, sink),
        interrupt_(interrupt),
        window_(kWindow) {}

  Status Run() {
    for (bool last = false; !last;) {
      last = in_.Take(1) == 1;
      DecodeBlock(in_.Take(2));
      if (!in_.ok()) return in_.status();
      if (!stopped_) return stopped_;
    }
    CTXFS_TRY(Flush());
    return output_.End();
  }

 private:
  static constexpr size_t kWindow = size_t{64} << 10;

  bool going() const { return in_.ok() && static_cast<bool>(stopped_); }

  void DecodeBlock(unsigned kind) {
    switch (kind) {
      case 0:
        return CopyStored();
      case 1:
        MakeFixedCodes();
        return DecodeSymbols();
      case 2:
        ReadCodes();
        return DecodeSymbols();
      default:
        in_.Fail("invalid block");
    }
  }

  void CopyStored() {
    in_.SkipToByte();
    const uint32_t length = in_.Take(16);
    if ((in_.Take(16) ^ length) != 0xFFFF) in_.Fail("invalid stored block");
    for (uint32_t i = 0; i < length && going(); ++i) {
      Put(static_cast<std::byte>(in_.Take(8)));
    }
  }

  void MakeFixedCodes() {
    std::array<uint8_t, kLiterals> lengths{};
    std::fill_n(lengths.begin(), 144, uint8_t{8});
    std::fill_n(lengths.begin() + 144, 112, uint8_t{9});
    std::fill_n(lengths.begin() + 256, 24, uint8_t{7});
    std::fill_n(lengths.begin() + 280, 8, uint8_t{8});
    literals_.Make(lengths);
    std::array<uint8_t, kDistances> distances{};
    distances.fill(5);
    distances_.Make(distances);
  }

  void ReadCodes() {
    constexpr std::array<uint8_t, 19> kOrder = {
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const size_t literals = in_.Take(5) + 257;
    const size_t distances = in_.Take(5) + 1;
    const size_t given = in_.Take(4) + 4;
    std::array<uint8_t, kOrder.size()> lengths{};
    for (size_t i = 0; i < given; ++i) {
      lengths[kOrder[i]] = static_cast<uint8_t>(in_.Take(3));
    }
    if (!literals_.Make(lengths)) return in_.Fail("invalid code lengths");
    std::array<uint8_t, kLiterals + kDistances> all{};
    ReadLengths(std::span(all).first(literals + distances));
    const std::span<const uint8_t> made(all);
    if (!in_.ok()) return;
    if (literals > kLastLength + 1 || all[kEndOfBlock] == 0 ||
        !literals_.Make(made.first(literals)) ||
        !distances_.Make(made.subspan(literals, distances))) {
      in_.Fail("invalid codes");
    }
  }

  /// Reads the code lengths of both codes. literals_ must be the code with
  /// which the lengths are encoded.
  void ReadLengths(std::span<uint8_t> lengths) {
    for (size_t at = 0; at < lengths.size() && in_.ok();) {
      const unsigned symbol = in_.Symbol(literals_);
      if (symbol < 16) {
        lengths[at++] = static_cast<uint8_t>(symbol);
        continue;
      }
      const size_t times = symbol == 16   ? 3 + in_.Take(2)
                           : symbol == 17 ? 3 + in_.Take(3)
                                          : 11 + in_.Take(7);
      if (times > lengths.size() - at || (symbol == 16 && at == 0)) {
        return in_.Fail("invalid repeated length");
      }
      std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(at), times,
                  symbol == 16 ? lengths[at - 1] : uint8_t{0});
      at += times;
    }
  }

  void DecodeSymbols() {
    while (going()) {
      const unsigned symbol = in_.Symbol(literals_);
      if (symbol < kEndOfBlock) {
        Put(static_cast<std::byte>(symbol));
      } else if (symbol == kEndOfBlock) {
        return;
      } else if (symbol > kLastLength) {
        in_.Fail("invalid symbol");
      } else {
        Copy(kLengths[symbol - kEndOfBlock - 1]);
      }
    }
  }

  void Copy(Range64 lengths) {
    const uint32_t length = lengths.base + in_.Take(lengths.extra);
    const Range64 distances = DistanceOf(in_.Symbol(distances_));
    const uint32_t distance = distances.base + in_.Take(distances.extra);
    if (!in_.ok()) return;
    if (distance > made_) return in_.Fail("a match reaches before the start");
    for (uint32_t i = 0; i < length && going(); ++i) {
      Put(window_[static_cast<size_t>(made_ - distance) % kWindow]);
    }
  }

  void Put(std::byte byte) {
    // A failed reader returns zeros, which are not output.
    if (!in_.ok()) return;
    window_[static_cast<size_t>(made_++) % kWindow] = byte;
    if (made_ % kWindow == 0) stopped_ = Flush();
  }

  Status Flush() {
    const size_t size = static_cast<size_t>(made_ - flushed_);
    flushed_ = made_;
    CTXFS_TRY(interrupt_.Check());
    return output_.Put(Bytes(window_).first(size));
  }

  BitReader64 in_;
  StreamOutput output_;
  const Interrupt& interrupt_;
  Status stopped_;  // the error of the sink or of interrupt_
  std::vector<std::byte> window_;
  uint64_t made_ = 0;
  uint64_t flushed_ = 0;  // a multiple of kWindow until the end
  Code64 literals_;
  Code64 distances_;
};

}  // namespace

Status DecodeDeflate64Stream(const NextBytes& next, const StreamSizes& sizes,
                             const ByteSink& sink, const Interrupt& interrupt) {
  return Inflater64(next, sizes.decoded, sink, interrupt).Run();
}

}  // namespace ctxfs
