// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/json/json.h"
#include "core/base/request.h"
#include "core/base/result.h"

namespace ctxfs {

/// A null, boolean, number or string. A number is a double if it has a point or
/// an exponent or does not fit; else an int64_t if it has a minus sign, and a
/// uint64_t otherwise. The receiver may move from a string.
using JsonScalar =
    std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string*>;

/// Converts a scalar to Json. Moves from a string.
Json AsJson(const JsonScalar& scalar);

/// Receives the events of a JSON value, in order. A handler may call Fail,
/// which stops reading. The reader does not limit the depth, so OnOpen must.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;

  virtual void OnScalar(const JsonScalar& scalar) = 0;
  /// Receives the key of the next member of an object. May move from `key`.
  virtual void OnKey(std::string& key) = 0;
  virtual void OnOpen(bool is_array) = 0;
  virtual void OnClose() = 0;

 protected:
  /// Bytes of the text up to the end of the event's last token; 1 more if that
  /// token is a number and the text continues.
  size_t at() const { return at_; }
  /// The number of objects and arrays that enclose the event's value.
  size_t depth() const { return depth_; }
  void Fail(Error error) { error_ = std::move(error); }

 private:
  friend class JsonReader;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::optional<Error> error_;
};

/// The part of a text that is read.
enum class JsonExtent : uint8_t {
  kFirstValue,  // ignores bytes after the value
  kWholeText,   // only white space may surround the value
};

/// Reads a JSON value, and returns the number of bytes from the start of `text`
/// to the end of the value; for kWholeText, the size of `text`. Fails with
/// kCorrupt (offset: byte within `text`), with the error of `events`, or with
/// the error of Request::CheckMemory for `request`.
Result<size_t> ReadJson(std::string_view text, JsonDialect dialect,
                        JsonExtent extent, JsonEvents& events,
                        const Request& request);

}  // namespace ctxfs
