// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"

#include <iterator>
#include <utility>
#include <vector>

#include "core/base/limits.h"

namespace ctxfs {
namespace {

/// Builds the value while counting its depth, and keeps the failure instead of
/// throwing it. Of equal keys in one object the last wins.
class Handler {
 public:
  explicit Handler(Json& root) : root_(root) {}

  bool null() { return Add(nullptr); }
  bool boolean(bool v) { return Add(v); }
  bool number_integer(Json::number_integer_t v) { return Add(v); }
  bool number_unsigned(Json::number_unsigned_t v) { return Add(v); }
  bool number_float(Json::number_float_t v, const std::string& /*text*/) {
    return Add(v);
  }
  bool string(std::string& v) { return Add(std::move(v)); }
  bool binary(Json::binary_t& /*v*/) { return false; }
  bool start_object(size_t /*n*/) { return Open(Json::object()); }
  bool start_array(size_t /*n*/) { return Open(Json::array()); }
  bool key(std::string& v) {
    key_ = std::move(v);
    return true;
  }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& e) {
    // The library counts the characters it has taken, the wrong one included.
    error = {Code::kCorrupt, e.what(), position == 0 ? 0 : position - 1};
    return false;
  }

  Error error{Code::kCorrupt, "not JSON", kNoOffset};

 private:
  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[std::move(key_)] = std::move(value));
  }
  bool Add(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    if (open_.size() >= limits::kJsonDepth) {
      error = {Code::kLimit, "JSON nested too deeply", kNoOffset};
      return false;
    }
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<Json*> open_;  // the values we are inside of, outermost first
  std::string key_;
};

/// How far the parser has read, and whether it has asked for more than all.
struct Progress {
  const char* furthest;
  bool met_end = false;
};

/// A character iterator that keeps account of the parser's progress.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, Progress* progress) : at_(at), progress_(progress) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    progress_->furthest = ++at_;
    return *this;
  }
  bool operator==(const Cursor& end) const {
    progress_->met_end = at_ == end.at_;
    return progress_->met_end;
  }

 private:
  const char* at_;
  Progress* progress_;
};

}  // namespace

Result<ParsedJson> ParseJson(std::string_view text) {
  if (text.size() > limits::kJsonBytes) {
    return Error{Code::kLimit, "JSON of " + std::to_string(text.size()) +
                                   " bytes is over the limit"};
  }
  ParsedJson parsed{Json(), 0};
  Handler handler(parsed.value);
  Progress progress{text.data()};
  const Cursor first(text.data(), &progress);
  const Cursor last(text.data() + text.size(), &progress);
  if (!Json::sax_parse(first, last, &handler, Json::input_format_t::json,
                       /*strict=*/false)) {
    return std::move(handler.error);
  }
  parsed.length = static_cast<size_t>(progress.furthest - text.data());
  // A number ends before the character that is no longer part of it.
  if (parsed.value.is_number() && !progress.met_end) --parsed.length;
  return parsed;
}

std::string FormatJson(const Json& value) {
  return value.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ctxfs
