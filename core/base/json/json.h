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

/// Objects keep their keys sorted: equal values give equal text, and a hostile
/// object of a million keys costs what a map costs.
using Json = nlohmann::json;

struct ParsedJson {
  Json value;
  size_t length;  // bytes up to the end of the value
};

/// Which texts are JSON. kPython is what Python's json module writes and reads
/// beyond the standard: the bare numbers NaN, Infinity and -Infinity, and lone
/// surrogates in strings, which are kept as the three bytes that UTF-8 would
/// have for them.
enum class JsonDialect : uint8_t { kStandard, kPython };

/// Parses the one JSON value that `text` starts with and ignores what follows
/// it. Fails with kCorrupt (offset: byte within `text`) or kLimit (more than
/// limits::kJsonBytes, nested deeper than limits::kJsonDepth, more than
/// limits::kJsonValues), or as Request::CheckMemory does for `request`.
Result<ParsedJson> ParseJson(std::string_view text, const Request& request,
                             JsonDialect dialect = JsonDialect::kStandard);
/// Outside of any request.
Result<ParsedJson> ParseJson(std::string_view text,
                             JsonDialect dialect = JsonDialect::kStandard);

/// Receives the parts of a JSON value while it is parsed, so that only what a
/// caller needs takes memory. Equal keys come in their order, so a visitor that
/// overwrites keeps the last one.
class JsonVisitor {
 public:
  /// Keys from the root; the elements of an array all have the empty one.
  using Path = std::vector<std::string>;

  virtual ~JsonVisitor() = default;

  /// An object or array begins at `path`. Returns false to skip its contents;
  /// then there is no Leave either.
  virtual bool Enter(const Path& path, bool is_array) = 0;
  virtual void Leave(const Path& path) = 0;

  /// A string, number, boolean or null at `path`.
  virtual void Scalar(const Path& path, Json value) = 0;
};

/// Walks the JSON value that `text` starts with, and returns its length in
/// bytes. Fails as ParseJson does, but has no limit on the number of values.
Result<size_t> WalkJson(std::string_view text, JsonDialect dialect,
                        JsonVisitor& visitor,
                        const Request& request = Request());

/// Returns the member of `object` at `key`; null if there is none or `object`
/// is not an object.
const Json* MemberAt(const Json& object, const char* key);

/// The string at `key`; empty when there is none.
std::string TextAt(const Json& object, const char* key);

/// The whole number at `key` that is not negative; nullopt when there is none.
std::optional<uint64_t> CountAt(const Json& object, const char* key);

/// Whether most readers of JSON have `value` exactly: they use doubles.
constexpr bool IsExactInJson(int64_t value) {
  constexpr int64_t kMax = (int64_t{1} << 53) - 1;
  return value >= -kMax && value <= kMax;
}
/// A number, or its digits as a string unless IsExactInJson.
Json SignedJson(int64_t value);
Json UnsignedJson(uint64_t value);

/// The shortest decimal that reads back as `value`, so that 0.1F is 0.1; null
/// for NaN and infinities, which JSON does not have.
Json FloatJson(float value);

/// `value` as text on one line; bytes that are not UTF-8 become U+FFFD.
std::string JsonLine(const Json& value);

/// `text` with U+FFFD in the place of bytes that are not UTF-8.
std::string AsUtf8(std::string_view text);

/// `value` as indented text ending in a newline; bytes that are not UTF-8
/// become U+FFFD.
std::string FormatJson(const Json& value);

}  // namespace ctxfs
