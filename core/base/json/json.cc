// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json_input.h"
#include "core/base/limits.h"
#include "core/base/text/printable.h"
#include "core/base/text/whole_number.h"

namespace ctxfs {
namespace {

/// The code unit of the escape \uXXXX at the start of `text`.
std::optional<uint16_t> UnicodeEscape(std::string_view text) {
  constexpr size_t kLength = 6;
  if (text.size() < kLength || !text.starts_with("\\u")) return std::nullopt;
  return WholeNumber<uint16_t>(text.substr(2, kLength - 2), 16);
}

bool IsHigh(uint16_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLow(uint16_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

/// Translates Python's JSON to standard JSON while the parser reads it, without
/// changing its length. A bare number becomes a string and a lone surrogate
/// becomes \u0000. Both are recorded, and the handler of the value restores
/// them. A \u0000 in the text also puts a NUL into a string, so those are
/// recorded as well.
class PythonText {
 public:
  explicit PythonText(std::string_view text)
      : end_(text.data() + text.size()) {}

  /// The character to parse instead of the one at `at`; called in order.
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

  /// The bare number that the last string replaced.
  std::optional<double> TakeNumber() {
    return std::exchange(number_, std::nullopt);
  }

  /// Restores the surrogates in the last string.
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
      // The character after a backslash belongs to the escape, even a quote.
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
  std::vector<uint16_t> units_;  // 0, or the surrogate, of each NUL
};

/// Passes the parser's events on with their paths, counts the depth, and
/// records the failure instead of throwing it.
class Walker {
 public:
  Walker(JsonVisitor& visitor, PythonText* python, JsonProgress& progress)
      : visitor_(visitor), python_(python), progress_(progress) {}

  bool null() { return Scalar(nullptr); }
  bool boolean(bool v) { return Scalar(v); }
  bool number_integer(Json::number_integer_t v) { return Number(v); }
  bool number_unsigned(Json::number_unsigned_t v) { return Number(v); }
  bool number_float(Json::number_float_t v, const std::string& /*text*/) {
    return Number(v);
  }
  bool string(std::string& v) {
    if (python_ != nullptr) {
      if (const auto number = python_->TakeNumber()) return Scalar(*number);
      python_->Restore(v);
    }
    return Scalar(std::move(v));
  }
  bool binary(Json::binary_t& /*v*/) { return false; }
  bool start_object(size_t /*n*/) { return Open(false); }
  bool start_array(size_t /*n*/) { return Open(true); }
  bool key(std::string& v) {
    if (python_ != nullptr) {
      if (python_->TakeNumber()) {
        error = {Code::kCorrupt, "a number where a key should be", kNoOffset};
        return false;
      }
      python_->Restore(v);
    }
    if (passing_over_ == 0) path_.back() = std::move(v);
    progress_.BeginToken();
    return true;
  }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& e) {
    // The library counts the consumed characters, including the wrong one.
    error = {Code::kCorrupt, JsonFault(e.what()),
             position == 0 ? 0 : position - 1};
    return false;
  }

  bool is_number() const { return is_number_; }

  Error error{Code::kCorrupt, "not JSON", kNoOffset};

 private:
  template <typename T>
  bool Number(T value) {
    is_number_ = path_.empty() && passing_over_ == 0;
    return Scalar(value);
  }
  template <typename T>
  bool Scalar(T&& value) {
    if (!MayGoOn()) return false;
    if (passing_over_ == 0)
      visitor_.Scalar(path_, Json(std::forward<T>(value)));
    return true;
  }
  /// Whether memory for another value is available.
  bool MayGoOn() {
    progress_.BeginToken();
    Status may = HeapAllowance::Check();
    if (!may) error = std::move(may).error();
    return may.has_value();
  }
  bool Open(bool is_array) {
    if (!MayGoOn()) return false;
    if (path_.size() + passing_over_ >= limits::kJsonDepth) {
      error = {Code::kLimit, "JSON nested too deeply", kNoOffset};
      return false;
    }
    if (passing_over_ > 0 || !visitor_.Enter(path_, is_array)) {
      ++passing_over_;
    } else {
      path_.emplace_back();
    }
    return true;
  }
  bool Close() {
    if (passing_over_ > 0) {
      --passing_over_;
    } else {
      path_.pop_back();
      visitor_.Leave(path_);
    }
    return true;
  }

  JsonVisitor& visitor_;
  PythonText* python_;
  JsonProgress& progress_;
  JsonVisitor::Path path_;
  bool is_number_ = false;
  size_t passing_over_ = 0;  // levels below the skipped value
};

class Builder final : public JsonVisitor {
 public:
  explicit Builder(Json& root) : root_(root) {}

  bool Enter(const Path& path, bool is_array) override {
    if (!Count()) return false;
    open_.push_back(Place(path, is_array ? Json::array() : Json::object()));
    return true;
  }
  void Leave(const Path& /*path*/) override { open_.pop_back(); }
  void Scalar(const Path& path, Json value) override {
    if (Count()) Place(path, std::move(value));
  }

  /// Whether there were too many values: the value is then incomplete.
  bool too_many() const { return count_ > limits::kJsonValues; }

 private:
  bool Count() {
    if (!too_many()) ++count_;
    return !too_many();
  }

  Json* Place(const Path& path, Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      // Without memory, parsing stops at the next value.
      auto& elements = parent.get_ref<Json::array_t&>();
      if (elements.empty() || AdmitGrowth(elements)) {
        elements.push_back(std::move(value));
      }
      return &elements.back();
    }
    return &(parent[path.back()] = std::move(value));
  }

  Json& root_;
  uint64_t count_ = 0;
  std::vector<Json*> open_;  // open values, outermost first
};

/// Text that grows only while the HeapAllowance admits it. After a refusal it
/// stays incomplete, and the work fails at its next HeapAllowance::Check().
class AdmittedText final
    : public nlohmann::detail::output_adapter_protocol<char> {
 public:
  void write_character(char c) override { write_characters(&c, 1); }
  void write_characters(const char* characters, size_t length) override {
    ended_ = ended_ || !AppendAdmitted(text_, {characters, length});
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool ended_ = false;
};

/// Returns the result of Json::dump, but checks the HeapAllowance as it grows.
std::string Text(const Json& value, int indent) {
  auto out = std::make_shared<AdmittedText>();
  nlohmann::detail::serializer<Json> writer(out, ' ',
                                            Json::error_handler_t::replace);
  writer.dump(value, indent >= 0, /*ensure_ascii=*/false,
              static_cast<unsigned>(std::max(indent, 0)));
  return out->Take();
}

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
  std::string_view parsed;  // what was expected
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

Result<size_t> WalkJson(std::string_view text, JsonDialect dialect,
                        JsonVisitor& visitor, const Request& request) {
  if (text.size() > limits::kJsonBytes) {
    return Error{Code::kLimit, fmt::format("JSON of {} bytes is over the limit",
                                           text.size())};
  }
  PythonText translator(text);
  PythonText* python = dialect == JsonDialect::kPython ? &translator : nullptr;
  const auto translate = [python](const char* at) {
    return python != nullptr ? python->Translate(at) : *at;
  };
  JsonProgress progress(text.data(), request);
  Walker walker(visitor, python, progress);
  const JsonCursor first(text.data(), &progress, translate);
  const JsonCursor last(text.data() + text.size(), &progress, translate);
  const bool parsed =
      Json::sax_parse(first, last, &walker, Json::input_format_t::json,
                      /*strict=*/false);
  if (!progress.refusal()) return progress.refusal().error();
  CTXFS_TRY(HeapAllowance::Check());
  if (!parsed) return std::move(walker.error);
  size_t length = progress.read();
  // The parser detects the end of a number by reading one character further.
  if (walker.is_number() && !progress.met_end()) --length;
  return length;
}

Result<ParsedJson> ParseJson(std::string_view text, JsonDialect dialect) {
  return ParseJson(text, Request(), dialect);
}

Result<ParsedJson> ParseJson(std::string_view text, const Request& request,
                             JsonDialect dialect) {
  ParsedJson parsed{Json(), 0};
  Builder builder(parsed.value);
  const size_t length = CTXFS_TRY(WalkJson(text, dialect, builder, request));
  if (builder.too_many()) {
    return Error{Code::kLimit,
                 fmt::format("JSON of more than {} values is over the limit",
                             limits::kJsonValues)};
  }
  parsed.length = length;
  return parsed;
}

const Json* MemberAt(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string TextAt(const Json& object, const char* key) {
  const Json* text = MemberAt(object, key);
  if (text == nullptr || !text->is_string()) return {};
  return text->get<std::string>();
}

std::optional<uint64_t> CountAt(const Json& object, const char* key) {
  const Json* count = MemberAt(object, key);
  if (count == nullptr || !count->is_number_unsigned()) return std::nullopt;
  return count->get<uint64_t>();
}

Json SignedJson(int64_t value) {
  return IsExactInJson(value) ? Json(value) : Json(std::to_string(value));
}

Json UnsignedJson(uint64_t value) {
  const bool exact =
      value <= INT64_MAX && IsExactInJson(static_cast<int64_t>(value));
  return exact ? Json(value) : Json(std::to_string(value));
}

Json FloatJson(float value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  const char* end = std::to_chars(text, std::end(text), value).ptr;
  double shortest = 0;
  std::from_chars(text, end, shortest);
  return shortest;
}

std::string JsonLine(const Json& value) { return Text(value, -1); }

std::string AsUtf8(std::string_view text) {
  // If the HeapAllowance refused memory, the line is cut and not JSON.
  const Json whole = Json::parse(JsonLine(text), nullptr, false);
  return whole.is_string() ? whole.get<std::string>() : std::string();
}

std::string FormatJson(const Json& value) {
  std::string text = Text(value, 1);
  text += '\n';
  return text;
}

}  // namespace ctxfs
