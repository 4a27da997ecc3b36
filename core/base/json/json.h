// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/request.h"
#include "core/base/result.h"

namespace ctxfs {

/// Objects keep their keys sorted: equal values have equal text, and a hostile
/// object of a million keys costs O(log n) per key.
using Json = nlohmann::json;

struct ParsedJson {
  Json value;
  size_t length;  // bytes up to the end of the value
};

/// The accepted texts. kPython also accepts what Python's json module writes
/// and reads although the standard forbids it: the bare numbers NaN, Infinity
/// and -Infinity, and lone surrogates in strings, which become the three bytes
/// that UTF-8 would have for them.
enum class JsonDialect : uint8_t { kStandard, kPython };

/// Parses the JSON value at the start of `text` and ignores the rest. Fails
/// with kCorrupt (offset: byte within `text`) or kLimit (more than
/// limits::kJsonBytes, nested deeper than limits::kJsonDepth, more than
/// limits::kJsonValues), or with the error of request.CheckMemory().
Result<ParsedJson> ParseJson(std::string_view text, const Request& request,
                             JsonDialect dialect = JsonDialect::kStandard);
/// Like the function above, without a request.
Result<ParsedJson> ParseJson(std::string_view text,
                             JsonDialect dialect = JsonDialect::kStandard);

/// Receives the parts of a JSON value while it is parsed, so that only the
/// parts that a caller needs take memory. A repeated key arrives repeatedly, in
/// the order of the text, so a visitor that overwrites keeps the last value.
class JsonVisitor {
 public:
  /// Keys from the root; all elements of an array have the empty key.
  using Path = std::vector<std::string>;

  virtual ~JsonVisitor() = default;

  /// An object or array begins at `path`. Returns false to skip its contents
  /// and its Leave.
  virtual bool Enter(const Path& path, bool is_array) = 0;
  virtual void Leave(const Path& path) = 0;

  /// A string, number, boolean or null at `path`.
  virtual void Scalar(const Path& path, Json value) = 0;
};

/// Walks the JSON value at the start of `text`, and returns its length in
/// bytes. Fails like ParseJson, but has no limit on the number of values.
Result<size_t> WalkJson(std::string_view text, JsonDialect dialect,
                        JsonVisitor& visitor,
                        const Request& request = Request());

/// Returns the member of `object` at `key`; null if there is none or `object`
/// is not an object.
const Json* MemberAt(const Json& object, const char* key);

/// The string at `key`; empty if there is none.
std::string TextAt(const Json& object, const char* key);

/// The non-negative integer at `key`; nullopt if there is none.
std::optional<uint64_t> CountAt(const Json& object, const char* key);

/// Whether the magnitude of `value` is less than 2^53, so that a double, the
/// number of most JSON readers, represents it and all smaller integers exactly.
constexpr bool IsExactInJson(int64_t value) {
  constexpr int64_t kMax = (int64_t{1} << 53) - 1;
  return value >= -kMax && value <= kMax;
}
/// Returns `value` as a number if IsExactInJson(value), else a string of its
/// digits.
Json SignedJson(int64_t value);
Json UnsignedJson(uint64_t value);

/// The shortest decimal that reads back as `value`, so that 0.1F is 0.1; null
/// for NaN and infinities, which JSON does not have.
Json FloatJson(float value);

/// `value` as text on one line; bytes that are not UTF-8 become U+FFFD.
std::string JsonLine(const Json& value);

/// `text` with bytes that are not UTF-8 replaced by U+FFFD; empty if the
/// HeapAllowance refuses memory.
std::string AsUtf8(std::string_view text);

/// `value` as indented text ending in a newline; bytes that are not UTF-8
/// become U+FFFD.
std::string FormatJson(const Json& value);

}  // namespace ctxfs
