// SPDX-License-Identifier: Apache-2.0
#include "core/formats/sample_shard/stored_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text/text.h"

namespace ctxfs::sample_shard {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Bytes between two interrupt checks.
constexpr size_t kBytesACheck = limits::kMiB;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLineBreak(char c) { return c == '\n' || c == '\r'; }
bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Checks the grammar of one JSON value (RFC 8259) and copies its text. The
/// first fault stops the scan.
class Scanner {
 public:
  Scanner(std::string_view text, JsonForm form, const ReadContext& context)
      : text_(text), form_(form), context_(context) {}

  Result<std::string> Run() {
    if (text_.starts_with(kByteOrderMark)) {
      at_ = kByteOrderMark.size();
      if (form_ == JsonForm::kOneLine) Replace(0, {});
    }
    while (!error_ && !done_) Step();
    if (error_) return *std::move(error_);
    Replace(text_.size(), {});
    return std::move(out_);
  }

 private:
  // Tokens that the grammar allows next.
  enum class Next : uint8_t {
    kValue,
    kValueOrEnd,  // after "["
    kKey,
    kKeyOrEnd,  // after "{"
    kColon,
    kSeparator,  // after a value: "," or a closing bracket
  };

  /// Consumes white space and one token.
  void Step() {
    if (!Tick()) return;
    SkipBlanks();
    if (error_) return;
    if (at_ == text_.size()) {
      if (next_ != Next::kSeparator || !open_.empty()) {
        return Fail("the text ends before the JSON value does");
      }
      done_ = true;
      return;
    }
    const char c = text_[at_];
    switch (next_) {
      case Next::kValueOrEnd:
        if (c == ']') return Close();
        return Value(c);
      case Next::kValue:
        return Value(c);
      case Next::kKeyOrEnd:
        if (c == '}') return Close();
        return Key(c);
      case Next::kKey:
        return Key(c);
      case Next::kColon:
        if (c != ':') return Fail("expected a colon after a key");
        ++at_;
        next_ = Next::kValue;
        return;
      case Next::kSeparator:
        return Separator(c);
    }
  }

  void Separator(char c) {
    if (open_.empty()) return Fail("bytes follow the JSON value");
    const bool in_object = open_.back();
    if (c == (in_object ? '}' : ']')) return Close();
    if (c != ',') {
      return Fail(in_object ? "expected a comma or '}'"
                            : "expected a comma or ']'");
    }
    ++at_;
    next_ = in_object ? Next::kKey : Next::kValue;
  }

  void Value(char c) {
    if (c == '{' || c == '[') return Open(c == '{');
    next_ = Next::kSeparator;
    if (c == '"') return String();
    if (c == '-' || IsDigit(c)) return Number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (TakeWord(word)) return;
    }
    for (const std::string_view word : {"NaN", "Infinity"}) {
      if (TakeAsNull(word)) return;
    }
    Fail("not a JSON value");
  }

  void Open(bool is_object) {
    if (open_.size() >= limits::kJsonDepth) {
      error_ = {
          Code::kLimit,
          fmt::format("JSON nested more than {} deep", limits::kJsonDepth),
          at_};
      return;
    }
    open_.push_back(is_object);
    ++at_;
    next_ = is_object ? Next::kKeyOrEnd : Next::kValueOrEnd;
  }

  void Close() {
    open_.pop_back();
    ++at_;
    next_ = Next::kSeparator;
  }

  void Key(char c) {
    if (c != '"') return Fail("expected a key");
    next_ = Next::kColon;
    String();
  }

  void String() {
    size_t checked = at_;  // the text before this is valid UTF-8
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20) return Fail("a control character in a string");
      if (c != '\\') {
        ++at_;
      } else if (!Escape()) {
        return;
      }
      if (at_ - checked < kBytesACheck) continue;
      if (!Tick()) return;
      if ((static_cast<unsigned char>(Peek()) & 0xC0U) == 0x80) continue;
      if (!CheckUtf8(checked)) return;
      checked = at_;
    }
    if (at_ == text_.size()) return Fail("the text ends within a string");
    if (CheckUtf8(checked)) ++at_;
  }

  /// Consumes an escape sequence; sets an error if it is invalid.
  bool Escape() {
    constexpr std::string_view kShort = "\"\\/bfnrt";
    const std::string_view rest = text_.substr(at_ + 1);
    if (!rest.empty() && kShort.find(rest[0]) != std::string_view::npos) {
      at_ += 2;
      return true;
    }
    if (rest.size() >= 5 && rest[0] == 'u' &&
        std::all_of(rest.begin() + 1, rest.begin() + 5, &IsHexDigit)) {
      at_ += 6;
      return true;
    }
    Fail("not an escape sequence");
    return false;
  }

  bool CheckUtf8(size_t from) {
    if (IsUtf8(text_.substr(from, at_ - from))) return true;
    error_ = {Code::kCorrupt, "a string is not UTF-8", from};
    return false;
  }

  void Number() {
    if (TakeAsNull("-Infinity")) return;
    if (Peek() == '-') ++at_;
    if (Peek() == '0') {
      ++at_;
    } else if (!Digits()) {
      return;
    }
    if (Peek() == '.') {
      ++at_;
      if (!Digits()) return;
    }
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      if (!Digits()) return;
    }
  }

  /// Consumes digits; sets an error if there are none.
  bool Digits() {
    if (!IsDigit(Peek())) {
      Fail("expected a digit");
      return false;
    }
    while (IsDigit(Peek())) {
      ++at_;
      if (at_ % kBytesACheck == 0 && !Tick()) return false;
    }
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool TakeAsNull(std::string_view word) {
    const size_t start = at_;
    if (!TakeWord(word)) return false;
    Replace(start, "null");
    return true;
  }

  void SkipBlanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (!IsLineBreak(c) && c != ' ' && c != '\t') return;
      if (at_ % kBytesACheck == 0 && !Tick()) return;
      if (form_ != JsonForm::kOneLine || !IsLineBreak(c)) continue;
      out_ += text_.substr(copied_, at_ - copied_);
      copied_ = at_ + 1;
    }
  }

  /// Copies the text up to `start`, then appends `by` instead of [start, at_).
  void Replace(size_t start, std::string_view by) {
    out_ += text_.substr(copied_, start - copied_);
    out_ += by;
    copied_ = at_;
  }

  /// Returns the next character; at the end NUL, which no token contains.
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  /// Sets an error if the request is interrupted; checks once a MiB.
  bool Tick() {
    if (at_ < next_check_) return true;
    next_check_ = at_ + kBytesACheck;
    Status wanted = context_.Check();
    if (!wanted) error_ = std::move(wanted).error();
    return !error_;
  }

  void Fail(const char* what) { error_ = {Code::kCorrupt, what, at_}; }

  const std::string_view text_;
  const JsonForm form_;
  const ReadContext& context_;
  size_t at_ = 0;
  size_t copied_ = 0;  // text before this is copied or skipped
  size_t next_check_ = 0;
  Next next_ = Next::kValue;
  std::vector<bool> open_;  // enclosing containers; true: an object
  std::string out_;
  std::optional<Error> error_;
  bool done_ = false;
};

}  // namespace

Result<std::string> PassJson(std::string_view text, JsonForm form,
                             const ReadContext& context) {
  return Scanner(text, form, context).Run();
}

}  // namespace ctxfs::sample_shard
