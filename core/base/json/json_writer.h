// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"

namespace ctxfs {

/// Writes JSON text value by value, with the commas between them. The text has
/// a limit, because its content comes from a container. The first failure is
/// final: later calls do nothing.
class JsonWriter {
 public:
  /// Counts bytes before they are added; fails if they exceed the request's
  /// bound or if the request was interrupted.
  using Charge = std::function<Status(uint64_t bytes)>;

  /// `limit`: maximum bytes of the text. A longer text fails with `too_long`.
  JsonWriter(uint64_t limit, Error too_long, Charge charge = nullptr)
      : limit_(limit),
        too_long_(std::move(too_long)),
        charge_(std::move(charge)) {}

  bool ok() const { return status_.has_value(); }
  const Status& status() const { return status_; }
  /// Whether `bytes` more fit; if not, the writer fails. Call this before
  /// generating a text that takes long to generate.
  bool HasRoom(uint64_t bytes);

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  /// Puts a line break before the next key, item or closing bracket.
  void Break() { breaks_ = true; }
  /// Puts a blank after each later comma and colon, like Python's json.
  void PutBlanks() { blank_ = " "; }

  void Key(std::string_view key);
  /// Writes a key and its value.
  template <typename T>
  void Member(std::string_view key, const T& value) {
    Key(key);
    Value(value);
  }

  // These functions write a value. In text, bytes that are not UTF-8 become
  // U+FFFD.
  void Value(std::string_view text);
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(const std::string& text) { Value(std::string_view(text)); }
  void Value(const Json& value) { Raw(JsonLine(value)); }
  void Value(bool value) { Raw(value ? "true" : "false"); }
  /// Writes a string of the digits unless IsExactInJson(value).
  void Value(int64_t value);
  void Value(uint64_t value) { Raw(std::to_string(value)); }
  /// Writes the number by AppendFloat, or null if it is not finite.
  void Value(double value);
  void Null() { Raw("null"); }
  void Base64(std::string_view bytes);
  /// Writes a value that is already JSON.
  void Raw(std::string_view json);

  /// Appends text outside of all values, such as a newline at the end.
  void Append(std::string_view text);

  Result<std::string> Take() &&;

 private:
  void Begin(char bracket);
  void End(char bracket);
  /// Writes the separator between two items.
  void Separate();

  const uint64_t limit_;
  const Error too_long_;
  const Charge charge_;
  Status status_;
  std::string text_;
  std::vector<bool> has_items_;  // per open bracket, outermost first
  bool after_key_ = false;
  bool breaks_ = false;
  const char* blank_ = "";  // after a comma or colon
};

/// Appends `value`, which must be finite, as the shortest text that reads back
/// as the same number. Adds ".0" to a text without a point or an exponent,
/// because readers would take "1" for an integer.
template <typename T>
void AppendFloat(T value, std::string& text);

}  // namespace ctxfs
