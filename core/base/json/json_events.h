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

/// A null, boolean, number or string. A number is an int64_t if it has a minus
/// sign, a double if it has a point or an exponent or does not fit. A string
/// may be moved from.
using JsonScalar =
    std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string*>;

/// Receives the events of a JSON value, in order. Each may Fail, which ends
/// reading. Nothing bounds the depth but OnOpen.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;

  virtual void OnScalar(const JsonScalar& scalar) = 0;
  /// `key` may be moved from.
  virtual void OnKey(std::string& key) = 0;
  virtual void OnOpen(bool is_array) = 0;
  virtual void OnClose() = 0;

 protected:
  /// Bytes of the text up to and with the event's last token; with the byte
  /// after it, too, if that is a number.
  size_t at() const { return at_; }
  /// Objects and arrays around the event's value.
  size_t depth() const { return depth_; }
  void Fail(Error error) { error_ = std::move(error); }

 private:
  friend class JsonReader;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::optional<Error> error_;
};

/// What of a text is read.
enum class JsonExtent : uint8_t {
  kFirstValue,  // what follows the value is ignored
  kWholeText,   // the value must be all of it, but for white space
};

/// Reads a JSON value, and returns its length in bytes. Fails with kCorrupt
/// (offset: byte within `text`), with the error of `events`, or as
/// Request::CheckMemory does for `request`.
Result<size_t> ReadJson(std::string_view text, JsonDialect dialect,
                        JsonExtent extent, JsonEvents& events,
                        const Request& request);

/// Returns a parse error of the JSON library without the library's prefixes,
/// cut after 150 characters: "not JSON: invalid literal; last read: 'nul';
/// expected a value".
std::string JsonFault(std::string_view library_message);

}  // namespace ctxfs
