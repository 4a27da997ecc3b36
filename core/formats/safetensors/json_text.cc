// SPDX-License-Identifier: Apache-2.0
#include "core/formats/safetensors/json_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/text.h"
#include "core/formats/safetensors/limits.h"

namespace ctxfs::safetensors {
namespace {

/// A character iterator that counts the characters that were read.
class CountingCursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  CountingCursor(const char* at, size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingCursor& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  bool operator==(const CountingCursor& end) const { return at_ == end.at_; }

 private:
  const char* at_;
  size_t* count_;
};

/// At most 200 characters of the library's message, which quotes the file:
/// anything but printable ASCII is replaced.
std::string Printable(std::string_view message) {
  std::string text(message.substr(0, 200));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace

/// Counts the depth, and passes events on.
class JsonTextParser {
 public:
  JsonTextParser(JsonEvents& events, const ReadContext& context)
      : events_(events), context_(context) {}

  size_t* position() { return &events_.at_; }
  const Error& error() const { return *events_.error_; }

  bool null() { return Scalar(JsonEvents::Scalar::kNull); }
  bool boolean(bool /*value*/) { return Scalar(JsonEvents::Scalar::kBool); }
  // The library calls this for numbers with a minus sign only, -0 included.
  bool number_integer(Json::number_integer_t /*value*/) {
    return Scalar(JsonEvents::Scalar::kOtherNumber);
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return Scalar(JsonEvents::Scalar::kUnsigned, value);
  }
  bool number_float(Json::number_float_t /*value*/, const std::string& /*s*/) {
    return Scalar(JsonEvents::Scalar::kOtherNumber);
  }
  bool string(std::string& value) {
    if (Wanted()) events_.OnScalar(JsonEvents::Scalar::kString, 0, value);
    return !events_.error_;
  }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(size_t /*size*/) { return Open(false); }
  bool start_array(size_t /*size*/) { return Open(true); }
  bool key(std::string& value) {
    events_.OnKey(value);
    return !events_.error_;
  }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& e) {
    events_.Fail({Code::kCorrupt, "not JSON: " + Printable(e.what()),
                  position == 0 ? 0 : position - 1});
    return false;
  }

 private:
  bool Scalar(JsonEvents::Scalar kind, uint64_t number = 0) {
    std::string none;
    if (Wanted()) events_.OnScalar(kind, number, none);
    return !events_.error_;
  }
  bool Open(bool is_array) {
    if (depth_++ == kMostDepth) {
      events_.Fail(
          {Code::kCorrupt,
           "JSON nested deeper than " + std::to_string(kMostDepth) + " levels",
           events_.at_ - 1});
    } else if (Wanted()) {
      events_.OnOpen(is_array);
    }
    return !events_.error_;
  }
  bool Close() {
    --depth_;
    events_.OnClose();
    return !events_.error_;
  }
  /// Whether to go on: fails if the request was interrupted.
  bool Wanted() {
    constexpr uint64_t kEventsPerCheck = 16'384;
    if (++count_ % kEventsPerCheck != 0) return true;
    Status wanted = context_.Check();
    if (!wanted) events_.Fail(std::move(wanted).error());
    return wanted.has_value();
  }

  JsonEvents& events_;
  const ReadContext& context_;
  size_t depth_ = 0;
  uint64_t count_ = 0;
};

Status ParseJsonText(std::string_view text, JsonEvents& events,
                     const ReadContext& context) {
  // The library would take a NUL for the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return Error{Code::kCorrupt, "not JSON: it has a NUL byte", nul};
  }
  JsonTextParser parser(events, context);
  *parser.position() = 0;
  const CountingCursor first(text.data(), parser.position());
  const CountingCursor last(text.data() + text.size(), parser.position());
  if (Json::sax_parse(first, last, &parser, Json::input_format_t::json,
                      /*strict=*/true)) {
    return {};
  }
  Error error = parser.error();
  if (error.Permanent() && !IsUtf8(text)) error.what += " (it is not UTF-8)";
  return error;
}

}  // namespace ctxfs::safetensors
