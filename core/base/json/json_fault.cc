// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json_fault.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "core/base/json/json.h"
#include "core/base/json/json_escape.h"
#include "core/base/text/printable.h"

namespace ctxfs {
namespace {

/// Translates Python's JSON to standard JSON while the library reads it,
/// without changing the length of the text. NaN, Infinity and -Infinity become
/// strings, and a lone surrogate becomes \u0000.
class PythonText {
 public:
  explicit PythonText(std::string_view text)
      : end_(text.data() + text.size()) {}

  /// Returns the character to parse instead of the one at `at`. Must be called
  /// for each character in order.
  char Translate(const char* at) {
    if (at < until_) return substitute_[at - from_];
    const char c = *at;
    if (in_string_) {
      if (c == '\\') Escape(at);
      if (c == '"') in_string_ = false;
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == 'N' || c == 'I' || c == '-') {
      Number(at);
    }
    return at < until_ ? substitute_[0] : c;
  }

 private:
  void Substitute(const char* at, size_t length, const char* by) {
    from_ = at;
    until_ = at + length;
    substitute_ = by;
  }

  void Escape(const char* at) {
    const std::string_view rest(at, static_cast<size_t>(end_ - at));
    const std::optional<uint16_t> unit = UnicodeEscape(rest);
    if (!unit) {
      // A character after a backslash is part of the escape, even a quote.
      if (rest.size() > 1) Substitute(at, 2, at);
      return;
    }
    if (IsHighSurrogate(*unit)) {
      const auto low = UnicodeEscape(rest.substr(kUnicodeEscapeBytes));
      if (low && IsLowSurrogate(*low)) {
        return Substitute(at, 2 * kUnicodeEscapeBytes, at);
      }
    }
    const bool lone = IsHighSurrogate(*unit) || IsLowSurrogate(*unit);
    Substitute(at, kUnicodeEscapeBytes, lone ? "\\u0000" : at);
  }

  void Number(const char* at) {
    const std::string_view rest(at, static_cast<size_t>(end_ - at));
    if (rest.starts_with("NaN")) Substitute(at, 3, "\"_\"");
    if (rest.starts_with("Infinity")) Substitute(at, 8, "\"______\"");
    if (rest.starts_with("-Infinity")) Substitute(at, 9, "\"_______\"");
  }

  const char* end_;
  bool in_string_ = false;
  const char* from_ = nullptr;  // [from_, until_) is read from substitute_
  const char* until_ = nullptr;
  const char* substitute_ = nullptr;
};

constexpr ptrdiff_t kBytesACheck = 64 << 10;

/// The progress of the library's parser in a text.
struct Progress {
  const Request& request;
  PythonText* python;  // null: the text is standard JSON
  const char* at;
  const char* token;  // lower bound of the start of the current token
  const char* next;   // where to check `request` next
  Status refusal = {};
};

/// A character iterator that translates Python's JSON. Is at the end also when
/// the request has refused to continue.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Cursor(const char* at, Progress* progress) : at_(at), progress_(progress) {}
  reference operator*() const {
    PythonText* const python = progress_->python;
    return python == nullptr ? *at_ : python->Translate(at_);
  }
  Cursor& operator++() {
    progress_->at = ++at_;
    return *this;
  }
  bool operator==(const Cursor& end) const {
    return at_ == end.at_ || (at_ >= progress_->next && !MayGoOn());
  }

 private:
  bool MayGoOn() const {
    constexpr uint64_t kCopies = 4;  // as in JsonReader
    if (!progress_->refusal) return false;
    progress_->refusal = progress_->request.CheckMemory(
        kCopies * static_cast<uint64_t>(at_ - progress_->token));
    progress_->next = at_ + kBytesACheck;
    return progress_->refusal.has_value();
  }

  const char* at_;
  Progress* progress_;
};

/// Receives the library's events, and stores the fault that it reports.
class FaultFinder {
 public:
  explicit FaultFinder(Progress& progress) : progress_(progress) {}

  bool null() { return Pass(); }
  bool boolean(bool /*value*/) { return Pass(); }
  bool number_integer(Json::number_integer_t /*value*/) { return Pass(); }
  bool number_unsigned(Json::number_unsigned_t /*value*/) { return Pass(); }
  bool number_float(Json::number_float_t /*value*/,
                    const std::string& /*text*/) {
    return Pass();
  }
  bool string(std::string& /*value*/) { return Pass(); }
  bool binary(Json::binary_t& /*value*/) { return Pass(); }
  bool start_object(size_t /*size*/) { return Pass(); }
  bool start_array(size_t /*size*/) { return Pass(); }
  bool key(std::string& /*value*/) { return Pass(); }
  bool end_object() { return Pass(); }
  bool end_array() { return Pass(); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& e) {
    // The library counts the characters read, including the invalid one.
    fault_ = {Code::kCorrupt, JsonFault(e.what()),
              position == 0 ? 0 : position - 1};
    return false;
  }

  Error TakeFault() { return std::move(fault_); }

 private:
  bool Pass() {
    progress_.token = progress_.at;
    return true;
  }

  Progress& progress_;
  Error fault_{Code::kCorrupt, "not JSON"};
};

}  // namespace

std::string JsonFault(std::string_view library_message) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax
  // error while parsing value - invalid literal; last read: 'x'". The message
  // quotes the text, which is untrusted and may be long.
  constexpr size_t kMax = 150;
  std::string_view text = library_message;
  if (text.starts_with('[')) {
    text.remove_prefix(std::min(text.find("] ") + 2, text.size()));
  }
  constexpr std::string_view kSyntax = "syntax error while parsing ";
  std::string_view parsed;  // the expected element
  if (text.starts_with("parse error")) {
    text.remove_prefix(std::min(text.find(": ") + 2, text.size()));
  }
  if (text.starts_with(kSyntax)) {
    const size_t dash = std::min(text.find(" - "), text.size());
    parsed = text.substr(kSyntax.size(), dash - kSyntax.size());
    text.remove_prefix(std::min(dash + 3, text.size()));
  }
  std::string fault =
      "not JSON: " +
      Printable(text.substr(0, kMax), Charset::kAscii).substr(0, kMax);
  if (!parsed.empty() && text.find("; expected ") == std::string_view::npos) {
    const bool vowel =
        std::string_view("aeio").find(parsed[0]) != std::string_view::npos;
    fault += (vowel ? "; expected an " : "; expected a ") + std::string(parsed);
  }
  return fault;
}

Error FindJsonFault(std::string_view text, JsonDialect dialect,
                    JsonExtent extent, const Request& request) {
  PythonText python(text);
  Progress progress{
      .request = request,
      .python = dialect == JsonDialect::kPython ? &python : nullptr,
      .at = text.data(),
      .token = text.data(),
      .next = text.data() + std::min<size_t>(kBytesACheck, text.size())};
  FaultFinder finder(progress);
  (void)Json::sax_parse(Cursor(text.data(), &progress),
                        Cursor(text.data() + text.size(), &progress), &finder,
                        Json::input_format_t::json,
                        extent == JsonExtent::kWholeText);
  if (!progress.refusal) return std::move(progress.refusal).error();
  return finder.TakeFault();
}

}  // namespace ctxfs
