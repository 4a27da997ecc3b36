// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/interrupt.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/base/text/text.h"
#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/text.h"

namespace ctxfs::cowrie {

/// Whether a text that is not UTF-8 is a fault or is accepted.
enum class TextRule : uint8_t { kAnyBytes, kUtf8 };

class CowrieArrays;

/// An adjacency list in compressed rows, as stored. It has tag 0x30, except in
/// Go's form of generation 1.
struct StoredAdjacency {
  uint8_t width = 1;  // code of the width of an id: 1 for 4 bytes, 2 for 8
  uint64_t nodes = 0;
  uint64_t edges = 0;
  Json row_offsets;  // a list
  Bytes ids;
};

/// Reads the parts of cowrie values of either generation, within their limits
/// (docs/formats/cowrie.md, section 6). The first fault is final: ok() stays
/// false. Functions that read a varint, a count, a text, a list or a value then
/// return zero or nothing. U8 to U64, F32, F64, Take and Skip may read on, so
/// their results are valid only if ok(). An interrupt counts as a fault.
class CowrieReader {
 public:
  /// `offset`: added to the offsets of errors and arrays.
  explicit CowrieReader(Bytes bytes, uint64_t offset = 0,
                        const Interrupt& interrupt = NeverInterrupted(),
                        TextRule rule = TextRule::kAnyBytes)
      : in_(bytes, offset), interrupt_(interrupt), rule_(rule) {}
  CowrieReader(const CowrieReader&) = delete;
  CowrieReader& operator=(const CowrieReader&) = delete;

  bool ok() const { return !error_ && in_.ok(); }
  uint64_t remaining() const { return in_.remaining(); }
  uint64_t offset() const { return in_.offset(); }

  void Fail(std::string what, Code code = Code::kCorrupt) {
    if (ok()) error_ = Error{code, "cowrie: " + std::move(what), in_.offset()};
  }
  /// Returns the first fault. Must be called only once, and only if ok() is
  /// false.
  Error TheError() {
    if (error_) return *std::move(error_);
    return {Code::kCorrupt, "cowrie: ends within a value", in_.offset()};
  }

  uint8_t U8() { return in_.U8(); }
  uint16_t U16() { return in_.U16(); }
  uint32_t U32() { return in_.U32(); }
  uint64_t U64() { return in_.U64(); }
  double F32() {
    return Examined(static_cast<double>(std::bit_cast<float>(U32())));
  }
  double F64() { return Examined(std::bit_cast<double>(U64())); }
  uint64_t Uvarint() { return Worked(1) ? in_.Uvarint() : 0; }
  /// Reads a signed number; the lowest bit is the sign.
  int64_t Zigzag() {
    const uint64_t value = Uvarint();
    return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  Bytes Take(uint64_t n) { return in_.Take(n); }
  void Skip(uint64_t n) { in_.Skip(n); }

  /// Reads a count of items of at least `least` bytes each, and checks it
  /// against the remaining bytes; 0 after a fault.
  uint64_t Count(uint64_t least) {
    const uint64_t count = Uvarint();
    if (ok() && count > in_.remaining() / least) {
      Fail("a count of " + std::to_string(count) + " is too large for the " +
           std::to_string(in_.remaining()) + " bytes left");
    }
    return ok() ? count : 0;
  }

  /// Counts `bytes` of text; must be called before they are decoded. Returns
  /// false beyond the limit, if memory is refused, or after a fault.
  bool ChargeText(uint64_t bytes) {
    if (bytes > kMaxText - text_) {
      Fail("its text is over the limit", Code::kLimit);
      return false;
    }
    text_ += bytes;
    return Worked(bytes / kTextPerStep) &&
           Admitted(HeapAllowance::Admit(bytes));
  }
  uint64_t text() const { return text_; }
  /// Counts `values`; must be called before they are decoded. Returns false
  /// beyond the limit, or after a fault.
  bool ChargeValues(uint64_t values) {
    if (values > kMaxValues - values_) {
      Fail("over the limit of " + std::to_string(kMaxValues) + " values",
           Code::kLimit);
      return false;
    }
    values_ += values;
    return Worked(values);
  }
  /// Checks for an interrupt once enough steps (100 ns each) have accumulated.
  /// Returns false after a fault. Functions that read varints or count values
  /// and text call it; other long loops must call it, too.
  bool Worked(uint64_t steps) {
    steps_ += steps;
    if (steps_ >= kStepsPerCheck && ok()) {
      steps_ = 0;
      if (Status wanted = interrupt_.Check(); !wanted) {
        error_ = std::move(wanted).error();
      }
    }
    return ok();
  }

  /// If `may` is an error, memory was refused: makes that error the reader's
  /// fault. Returns false after any fault.
  bool Admitted(Status may) {
    if (!may && ok()) error_ = std::move(may).error();
    return ok();
  }

  /// Reads a value of any kind: its tag, then calls `read` with the tag.
  template <typename Read>
  Json Value(const Read& read) {
    if (!ChargeValues(1)) return nullptr;
    if (depth_ == kMaxDepth) {
      Fail("nested deeper than " + std::to_string(kMaxDepth), Code::kLimit);
      return nullptr;
    }
    ++depth_;
    Json value = read(U8());
    --depth_;
    return ok() ? std::move(value) : Json();
  }
  /// Returns `value`, or the error if reading failed or bytes follow. Must be
  /// the last call.
  Result<Json> Finish(Json value) {
    if (ok() && remaining() != 0) {
      Fail(std::to_string(remaining()) + " bytes follow the value");
    }
    if (!ok()) return TheError();
    return value;
  }

  /// Reads a uvarint length, and as many bytes.
  Bytes Data() { return in_.Take(Count(1)); }
  std::string_view View() {
    const std::string_view text = AsText(Data());
    if (rule_ == TextRule::kUtf8 && Worked(text.size() / kTextPerStep) &&
        !IsUtf8(text)) {
      Fail("a text is not UTF-8");
    }
    return text;
  }
  std::string Text() {
    const std::string_view text = View();
    return ChargeText(text.size()) ? std::string(text) : std::string();
  }
  /// Lists `count` results of `read`; each counts as `values` values.
  template <typename Read>
  Json List(uint64_t count, uint64_t values, const Read& read) {
    Json list = Json::array();
    auto& values_of = list.get_ref<Json::array_t&>();
    for (; count > 0 && ChargeValues(values); --count) {
      if (!Admitted(AdmitGrowth(values_of))) break;
      values_of.push_back(read());
    }
    return list;
  }
  Json Strings() {
    return List(Count(1), 1, [this] { return Text(); });
  }
  std::string Base64Of(Bytes data) {
    return ChargeText(data.size() * 2) ? Base64(AsText(data)) : std::string();
  }
  /// Reads the value of a tag common to both generations; nullopt for other
  /// tags.
  std::optional<Json> Scalar(uint8_t tag) {
    // A Json alone would be ambiguous: it converts to std::optional<Json> in
    // two ways.
    constexpr std::in_place_t kOf;
    switch (tag) {
      case 0x00:
        return std::optional<Json>(kOf);
      case 0x01:
        return false;
      case 0x02:
        return true;
      case 0x03:
        return std::optional<Json>(kOf, SignedJson(Zigzag()));
      case 0x04:
        return F64();
      case 0x05:
        return Text();
      case 0x08:
        return Base64Of(Data());
      default:
        return std::nullopt;
    }
  }
  /// Reads the value of a tag 0x09 to 0x0F of generation 2 and of generation
  /// 1's unified table; nullopt for other tags.
  std::optional<Json> UnifiedScalar(uint8_t tag);
  /// Fails because no value has `tag`.
  Json Unknown(uint8_t tag) {
    Fail("tag " + std::to_string(tag) + " is unknown");
    return nullptr;
  }
  /// Reads an adjacency and adds its arrays; nullopt after a fault. `numbers`:
  /// whether to build the list of row offsets.
  std::optional<StoredAdjacency> Adjacency(CowrieArrays& arrays, bool numbers);

  /// Number of values that writers rarely write (section 5).
  uint64_t odd_values() const { return odd_values_; }
  void CountOdd(bool odd) { odd_values_ += odd ? 1 : 0; }

 private:
  static constexpr uint64_t kStepsPerCheck = 16'384;
  static constexpr uint64_t kTextPerStep = 64;

  double Examined(double number) {
    constexpr double kLeast = 1e-20;
    constexpr double kMax = 1e20;
    const double size = std::abs(number);
    CountOdd(size != 0 && !(size >= kLeast && size <= kMax));
    return number;
  }
  Json Decimal();
  Json DateTime();
  Json BigInteger();
  Json Extension();

  ByteReader in_;
  const Interrupt& interrupt_;
  const TextRule rule_;
  std::optional<Error> error_;
  uint64_t values_ = 0;
  uint64_t text_ = 0;
  unsigned depth_ = 0;  // nesting of the current value
  uint64_t steps_ = 0;  // since the last check
  uint64_t odd_values_ = 0;
};

}  // namespace ctxfs::cowrie
