// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json_events.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/printable.h"
#include "core/base/text/whole_number.h"

namespace ctxfs {
namespace {

/// Returns the code unit of the escape \uXXXX at the start of `text`.
std::optional<uint16_t> UnicodeEscape(std::string_view text) {
  constexpr size_t kLength = 6;
  if (text.size() < kLength || !text.starts_with("\\u")) return std::nullopt;
  return WholeNumber<uint16_t>(text.substr(2, kLength - 2), 16);
}

bool IsHigh(uint16_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLow(uint16_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

}  // namespace

/// Translates Python's JSON to standard JSON while the parser reads it, without
/// changing the length of the text. NaN, Infinity and -Infinity become strings,
/// and a lone surrogate becomes \u0000. PythonText records both, and the
/// handler of the value restores them. An original \u0000 is recorded as well,
/// because it also becomes a NUL in a string.
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

  /// Returns the number that the last parsed string replaces, if any.
  std::optional<double> TakeNumber() {
    return std::exchange(number_, std::nullopt);
  }

  /// Restores the surrogates in the last parsed string.
  void Restore(std::string& text) {
    if (units_.empty()) return;
    std::string restored;
    size_t next = 0;
    for (const char c : text) {
      if (c != '\0' || units_[next++] == 0) {
        restored += c;
        continue;
      }
      const unsigned unit = units_[next - 1];
      restored += static_cast<char>(0xE0U | unit >> 12);
      restored += static_cast<char>(0x80U | (unit >> 6 & 0x3FU));
      restored += static_cast<char>(0x80U | (unit & 0x3FU));
    }
    text = std::move(restored);
    units_.clear();
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
    if (IsHigh(*unit)) {
      const std::optional<uint16_t> low = UnicodeEscape(rest.substr(6));
      if (low && IsLow(*low)) return Substitute(at, 12, at);
    }
    const bool lone = IsHigh(*unit) || IsLow(*unit);
    if (lone || *unit == 0) units_.push_back(*unit);
    Substitute(at, 6, lone ? "\\u0000" : at);
  }

  void Number(const char* at) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::string_view rest(at, static_cast<size_t>(end_ - at));
    if (rest.starts_with("NaN")) {
      Substitute(at, 3, "\"_\"");
      number_ = std::numeric_limits<double>::quiet_NaN();
    } else if (rest.starts_with("Infinity")) {
      Substitute(at, 8, "\"______\"");
      number_ = kInfinity;
    } else if (rest.starts_with("-Infinity")) {
      Substitute(at, 9, "\"_______\"");
      number_ = -kInfinity;
    }
  }

  const char* end_;
  bool in_string_ = false;
  const char* from_ = nullptr;  // [from_, until_) is read from substitute_
  const char* until_ = nullptr;
  const char* substitute_ = nullptr;
  std::optional<double> number_;
  std::vector<uint16_t> units_;  // per NUL in a string: its surrogate, or 0
};

/// The progress of the JSON library's parser in a text.
class JsonProgress {
 public:
  /// `request` must outlive this object.
  JsonProgress(const char* start, const Request& request)
      : request_(request),
        start_(start),
        at_(start),
        token_(start),
        next_(start + kBytesACheck) {}

  /// Bytes read so far.
  size_t read() const { return static_cast<size_t>(at_ - start_); }
  /// Whether the parser has reached the end of the text.
  bool met_end() const { return met_end_; }
  /// Success, or the error that stops the work. After an error, the parser sees
  /// the end of the text.
  const Status& refusal() const { return refusal_; }
  /// Records that the next token starts here or later.
  void BeginToken() { token_ = at_; }

 private:
  friend class JsonCursor;

  /// Whether the work may continue; called for each character. Requires memory
  /// for four times the current token: the parser holds two copies of it, each
  /// with up to twice the needed capacity.
  bool MayGoOn() {
    if (at_ < next_) return true;
    constexpr uint64_t kCopies = 4;
    if (!refusal_) return false;
    refusal_ =
        request_.CheckMemory(kCopies * static_cast<uint64_t>(at_ - token_));
    if (refusal_) next_ = at_ + kBytesACheck;  // success: check 64 KiB later
    return refusal_.has_value();
  }

  static constexpr ptrdiff_t kBytesACheck = 64 << 10;

  const Request& request_;
  const char* start_;
  const char* at_;
  const char* token_;  // lower bound of the start of the current token
  const char* next_;
  Status refusal_;
  bool met_end_ = false;
};

/// A character iterator that records the parser's progress, and translates if
/// `python` is not null. Reports the end of the text if the work must stop.
class JsonCursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  JsonCursor(const char* at, JsonProgress* progress, PythonText* python)
      : at_(at), progress_(progress), python_(python) {}
  reference operator*() const {
    if (python_ != nullptr) [[unlikely]] {
      return python_->Translate(at_);
    }
    return *at_;
  }
  JsonCursor& operator++() {
    progress_->at_ = ++at_;
    return *this;
  }
  bool operator==(const JsonCursor& end) const {
    progress_->met_end_ = at_ == end.at_;
    return progress_->met_end_ || !progress_->MayGoOn();
  }

 private:
  const char* at_;
  JsonProgress* progress_;
  PythonText* python_;
};

/// Forwards the library's events, and stores a failure instead of throwing it.
class JsonReader {
 public:
  JsonReader(JsonEvents& events, PythonText* python, JsonProgress& progress)
      : events_(events), python_(python), progress_(progress) {}

  bool null() { return Scalar(nullptr); }
  bool boolean(bool value) { return Scalar(value); }
  // The library calls this only for numbers with a minus sign, including -0.
  bool number_integer(Json::number_integer_t value) { return Number(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return Number(value); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) {
    return Number(value);
  }
  bool string(std::string& value) {
    if (python_ != nullptr) {
      if (const auto number = python_->TakeNumber()) return Scalar(*number);
      python_->Restore(value);
    }
    return Scalar(&value);
  }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(size_t /*size*/) { return Open(false); }
  bool start_array(size_t /*size*/) { return Open(true); }
  bool key(std::string& value) {
    if (python_ != nullptr) {
      if (python_->TakeNumber()) {
        return Fail({Code::kCorrupt, "a number where a key should be"});
      }
      python_->Restore(value);
    }
    if (Begin()) events_.OnKey(value);
    return !events_.error_;
  }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& e) {
    // The library counts the characters read, including the invalid one.
    return Fail({Code::kCorrupt, JsonFault(e.what()),
                 position == 0 ? 0 : position - 1});
  }

  /// Whether the whole value is a number.
  bool is_number() const { return is_number_; }
  /// Returns the failure; there must be one.
  Error TakeError() { return *std::move(events_.error_); }

 private:
  template <typename T>
  bool Number(T value) {
    is_number_ = events_.depth_ == 0;
    return Scalar(value);
  }
  bool Scalar(JsonScalar scalar) {
    if (Begin()) events_.OnScalar(scalar);
    return !events_.error_;
  }
  bool Open(bool is_array) {
    if (Begin()) events_.OnOpen(is_array);
    ++events_.depth_;
    return !events_.error_;
  }
  bool Close() {
    --events_.depth_;
    events_.at_ = progress_.read();
    events_.OnClose();
    return !events_.error_;
  }
  /// Prepares for an event. Fails, and returns false, if the HeapAllowance is
  /// exceeded.
  bool Begin() {
    progress_.BeginToken();
    events_.at_ = progress_.read();
    Status may = HeapAllowance::Check();
    return may || Fail(std::move(may).error());
  }
  /// Returns false, which stops the parser.
  bool Fail(Error error) {
    events_.Fail(std::move(error));
    return false;
  }

  JsonEvents& events_;
  PythonText* python_;
  JsonProgress& progress_;
  bool is_number_ = false;
};

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

Result<size_t> ReadJson(std::string_view text, JsonDialect dialect,
                        JsonExtent extent, JsonEvents& events,
                        const Request& request) {
  PythonText translator(text);
  PythonText* python = dialect == JsonDialect::kPython ? &translator : nullptr;
  JsonProgress progress(text.data(), request);
  JsonReader reader(events, python, progress);
  const JsonCursor first(text.data(), &progress, python);
  const JsonCursor last(text.data() + text.size(), &progress, python);
  const bool parsed =
      Json::sax_parse(first, last, &reader, Json::input_format_t::json,
                      extent == JsonExtent::kWholeText);
  if (!progress.refusal()) return progress.refusal().error();
  CTXFS_TRY(HeapAllowance::Check());
  if (!parsed) return reader.TakeError();
  size_t length = progress.read();
  // The parser reads one character past a number to find its end.
  if (reader.is_number() && !progress.met_end()) --length;
  return length;
}

}  // namespace ctxfs
