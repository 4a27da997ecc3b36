// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "core/base/request.h"

namespace ctxfs {

/// The progress of the JSON library's parser within a text.
class JsonProgress {
 public:
  /// `request` outlives this object.
  JsonProgress(const char* start, const Request& request)
      : request_(request),
        start_(start),
        at_(start),
        token_(start),
        next_(start + kBytesACheck) {}

  size_t read() const { return static_cast<size_t>(at_ - start_); }
  bool met_end() const { return met_end_; }
  /// Why the work stopped; the parser takes this for the end of the text.
  const Status& refusal() const { return refusal_; }
  /// Notes that the parser begins another token, at the latest now.
  void BeginToken() { token_ = at_; }

 private:
  template <typename Translate>
  friend class JsonCursor;

  /// Whether the work may continue; called for each character. The parser keeps
  /// two copies of a token, each with up to twice the capacity it needs.
  bool MayGoOn() {
    if (at_ < next_) return true;
    constexpr uint64_t kCopies = 4;
    if (!refusal_) return false;
    refusal_ =
        request_.CheckMemory(kCopies * static_cast<uint64_t>(at_ - token_));
    if (refusal_) next_ = at_ + kBytesACheck;  // else checked again
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

/// A character iterator that records the parser's progress. The text ends where
/// the work must stop. `translate(at)` is the character to parse instead of the
/// one at `at`; called in order.
template <typename Translate>
class JsonCursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  JsonCursor(const char* at, JsonProgress* progress, Translate translate)
      : at_(at), progress_(progress), translate_(translate) {}
  reference operator*() const { return translate_(at_); }
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
  Translate translate_;
};

/// Returns a parse error of the JSON library without the library's prefixes,
/// cut after 150 characters: "not JSON: invalid literal; last read: 'nul';
/// expected a value".
std::string JsonFault(std::string_view library_message);

}  // namespace ctxfs
