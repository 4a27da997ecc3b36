// SPDX-License-Identifier: Apache-2.0
//
// Reads JSON (RFC 8259) in one pass over the text. If the text is not JSON, the
// JSON library, which takes ten times as long, finds the reason (json_fault.h).
#include "core/base/json/json_events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json_escape.h"
#include "core/base/json/json_fault.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"

namespace ctxfs {
namespace {

/// A set of bytes.
using ByteSet = std::array<bool, 256>;

template <typename Has>
constexpr ByteSet SetOf(Has has) {
  ByteSet set{};
  for (unsigned c = 0; c < set.size(); ++c) set[c] = has(c);
  return set;
}

constexpr ByteSet kSpace = SetOf(
    [](unsigned c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; });
constexpr ByteSet kDigit =
    SetOf([](unsigned c) { return c >= '0' && c <= '9'; });
/// ASCII characters that are not escaped in a string.
constexpr ByteSet kPlain = SetOf(
    [](unsigned c) { return c >= ' ' && c < 0x80 && c != '"' && c != '\\'; });
constexpr ByteSet kNotAscii = SetOf([](unsigned c) { return c >= 0x80; });

/// Appends a code point as UTF-8. A surrogate becomes the three bytes that
/// UTF-8 would have for it.
void AppendPoint(uint32_t point, std::string& text) {
  const auto tail = [point](unsigned shift) {
    return static_cast<char>(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += {static_cast<char>(0xC0U | point >> 6), tail(0)};
  } else if (point < 0x10000) {
    text += {static_cast<char>(0xE0U | point >> 12), tail(6), tail(0)};
  } else {
    text +=
        {static_cast<char>(0xF0U | point >> 18), tail(12), tail(6), tail(0)};
  }
}

}  // namespace

/// Reads a value. Functions that return bool return false if the text is not
/// JSON, and if a handler or the request stops the reading, which sets
/// JsonEvents::error_.
class JsonReader {
 public:
  JsonReader(std::string_view text, JsonDialect dialect, JsonEvents& events,
             const Request& request)
      : start_(text.data()),
        end_(text.data() + text.size()),
        python_(dialect == JsonDialect::kPython),
        events_(events),
        request_(request) {}

  bool ReadValue() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (Rest().starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
    if (!Value()) return false;
    while (!open_.empty()) {
      if (!Skip(kSpace) || !(AtEnd() ? Close() : Item())) return false;
    }
    return true;
  }
  /// Reads the white space after the value, which must be all that follows. A
  /// NUL ends the text, as in the library.
  bool ReadEnd() { return Skip(kSpace) && Peek() == '\0'; }

  /// Bytes read so far.
  size_t read() const { return static_cast<size_t>(at_ - start_); }
  /// The error that stopped the reading; nullopt if only the text is at fault.
  std::optional<Error>& error() { return events_.error_; }

 private:
  std::string_view Rest() const {
    return {at_, static_cast<size_t>(end_ - at_)};
  }
  /// The next character; NUL at the end of the text.
  char Peek() const { return at_ < end_ ? *at_ : '\0'; }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  bool Take(std::string_view word) {
    if (!Rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  /// Skips all bytes that are in `set`. Returns false only if the reading was
  /// stopped.
  bool Skip(const ByteSet& set) {
    const char* at = at_;
    while (at < next_ && set[static_cast<unsigned char>(*at)]) ++at;
    at_ = at;
    return at < next_ || SkipOn(set);
  }
  /// Continues a Skip that has reached next_.
  bool SkipOn(const ByteSet& set) {
    while (at_ >= next_ && at_ < end_) {
      if (!MayGoOn()) return false;
      while (at_ < next_ && set[static_cast<unsigned char>(*at_)]) ++at_;
    }
    return true;
  }

  /// Whether the work may continue. Requires memory for four times the current
  /// token: this reader and a handler may hold copies of it, each with up to
  /// twice the needed capacity.
  bool MayGoOn() {
    constexpr uint64_t kCopies = 4;
    next_ = PartEnd();
    return MayGoOn(
        request_.CheckMemory(kCopies * static_cast<uint64_t>(at_ - token_)));
  }
  const char* PartEnd() const {
    constexpr ptrdiff_t kBytesACheck = 64 << 10;
    return at_ + std::min(kBytesACheck, end_ - at_);
  }
  bool MayGoOn(Status may) {
    if (!may) events_.Fail(std::move(may).error());
    return may.has_value();
  }

  /// Prepares for the event of a token that ends here. JsonEvents::at will be
  /// `beyond` bytes after its end.
  bool Begin(size_t beyond = 0) {
    token_ = at_;
    events_.at_ = read() + beyond;
    return MayGoOn(HeapAllowance::Check());
  }
  bool WantsMore() const { return !events_.error_; }

  bool Scalar(const JsonScalar& scalar, size_t beyond = 0) {
    if (!Begin(beyond)) return false;
    events_.OnScalar(scalar);
    return WantsMore();
  }

  bool Open(bool is_array) {
    ++at_;
    if (!Begin()) return false;
    events_.OnOpen(is_array);
    ++events_.depth_;
    open_.push_back(is_array);
    is_first_ = true;
    return WantsMore();
  }
  /// Whether the innermost open value ends here.
  bool AtEnd() const { return Peek() == (open_.back() ? ']' : '}'); }
  bool Close() {
    ++at_;
    --events_.depth_;
    events_.at_ = read();
    events_.OnClose();
    open_.pop_back();
    is_first_ = false;
    return WantsMore();
  }

  /// Reads an element or a member of the innermost open value.
  bool Item() {
    if (!std::exchange(is_first_, false) && !Take(',')) return false;
    return (open_.back() || Key()) && Value();
  }

  bool Key() {
    if (!Skip(kSpace)) return false;
    if (TakePythonNumber()) {
      events_.Fail({Code::kCorrupt, "a number where a key should be"});
      return false;
    }
    if (Peek() != '"' || !String() || !Begin()) return false;
    events_.OnKey(text_);
    return WantsMore() && Skip(kSpace) && Take(':');
  }

  bool Value() {
    if (!Skip(kSpace)) return false;
    switch (Peek()) {
      case '"':
        return String() && Scalar(&text_);
      case '{':
        return Open(false);
      case '[':
        return Open(true);
      case 't':
        return Take("true") && Scalar(true);
      case 'f':
        return Take("false") && Scalar(false);
      case 'n':
        return Take("null") && Scalar(nullptr);
      default:
        if (const auto number = TakePythonNumber()) return Scalar(*number);
        return Number();
    }
  }

  /// Reads a bare NaN, Infinity or -Infinity of JsonDialect::kPython; nullopt
  /// if there is none here.
  std::optional<double> TakePythonNumber() {
    using Limits = std::numeric_limits<double>;
    if (!python_) return std::nullopt;
    if (Take("NaN")) return Limits::quiet_NaN();
    if (Take("Infinity")) return Limits::infinity();
    if (Take("-Infinity")) return -Limits::infinity();
    return std::nullopt;
  }

  bool Digits() {
    return kDigit[static_cast<unsigned char>(Peek())] && Skip(kDigit);
  }

  bool Number() {
    token_ = at_;
    const char* const from = at_;
    const bool negative = Take('-');
    if (!Take('0') && !Digits()) return false;
    const char* const whole = at_;
    if (Take('.') && !Digits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('+')) (void)Take('-');
      if (!Digits()) return false;
    }
    const std::string_view text(from, static_cast<size_t>(at_ - from));
    const size_t beyond = at_ < end_ ? 1 : 0;
    if (at_ == whole && negative) {
      if (const auto value = WholeNumber<int64_t>(text)) {
        return Scalar(*value, beyond);
      }
    } else if (at_ == whole) {
      if (const auto value = WholeNumber<uint64_t>(text)) {
        return Scalar(*value, beyond);
      }
    }
    const std::optional<double> value = Real(text);
    return value && Scalar(*value, beyond);
  }

  /// The double that is nearest to a number; nullopt if it is infinite.
  static std::optional<double> Real(std::string_view number) {
    double value = 0;
    const char* const end = number.data() + number.size();
    if (std::from_chars(number.data(), end, value).ec != std::errc()) {
      // Some versions of from_chars refuse a number near 0.
      const Json parsed = Json::parse(number, nullptr, false);
      if (!parsed.is_number()) return std::nullopt;
      value = parsed.get<double>();
    }
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

  /// Reads the string that starts here into text_.
  bool String() {
    token_ = at_;
    text_.clear();
    const char* from = ++at_;
    while (Skip(kPlain)) {
      const char c = Peek();
      if (kNotAscii[static_cast<unsigned char>(c)]) {
        const char* const start = at_;
        if (!Skip(kNotAscii) || !IsUtf8({start, at_})) return false;
        continue;
      }
      text_.append(from, at_);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c != '\\' || !Escape()) return false;
      from = at_;
    }
    return false;
  }

  bool Escape() {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    if (Rest().starts_with("\\u")) return EscapedUnits();
    const size_t name = Rest().size() < 2 ? kNames.npos : kNames.find(at_[1]);
    if (name == kNames.npos) return false;
    at_ += 2;
    text_ += kValues[name];
    return true;
  }

  /// Reads \uXXXX, or two of these that are a pair of surrogates. Only
  /// JsonDialect::kPython allows a lone surrogate.
  bool EscapedUnits() {
    const std::optional<uint16_t> unit = UnicodeEscape(Rest());
    if (!unit) return false;
    at_ += kUnicodeEscapeBytes;
    uint32_t point = *unit;
    if (IsHighSurrogate(point)) {
      const std::optional<uint16_t> low = UnicodeEscape(Rest());
      if (low && IsLowSurrogate(*low)) {
        at_ += kUnicodeEscapeBytes;
        point = 0x10000 + ((point & 0x3FFU) << 10 | (*low & 0x3FFU));
      }
    }
    if (!python_ && (IsHighSurrogate(point) || IsLowSurrogate(point))) {
      return false;
    }
    AppendPoint(point, text_);
    return true;
  }

  const char* const start_;
  const char* const end_;
  const bool python_;
  JsonEvents& events_;
  const Request& request_;
  const char* at_ = start_;
  const char* token_ = start_;  // lower bound of the start of the current token
  const char* next_ = PartEnd();  // where to check `request_` next
  std::string text_;              // of the current string
  std::vector<bool> open_;        // for each open value: is it an array
  bool is_first_ = false;  // no item of the innermost open value was read
};

Result<size_t> ReadJson(std::string_view text, JsonDialect dialect,
                        JsonExtent extent, JsonEvents& events,
                        const Request& request) {
  JsonReader reader(text, dialect, events, request);
  const bool is_json = reader.ReadValue() &&
                       (extent == JsonExtent::kFirstValue || reader.ReadEnd());
  if (reader.error()) return *std::move(reader.error());
  CTXFS_TRY(HeapAllowance::Check());
  if (!is_json) return FindJsonFault(text, dialect, extent, request);
  return reader.read();
}

}  // namespace ctxfs
