// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"

namespace ctxfs {

void JsonWriter::Begin(char bracket) {
  Raw(std::string_view(&bracket, 1));
  has_items_.push_back(false);
}

void JsonWriter::End(char bracket) {
  has_items_.pop_back();
  if (std::exchange(breaks_, false)) Append("\n");
  Append(std::string_view(&bracket, 1));
}

void JsonWriter::Separate() {
  if (std::exchange(after_key_, false)) return;
  if (!has_items_.empty()) {
    if (has_items_.back()) {
      Append(",");
      if (!breaks_) Append(blank_);
    }
    has_items_.back() = true;
  }
  if (std::exchange(breaks_, false)) Append("\n");
}

void JsonWriter::Key(std::string_view key) {
  Value(key);
  Append(":");
  Append(blank_);
  after_key_ = true;
}

void JsonWriter::Value(std::string_view text) {
  // Escaping never shortens a text, so a text that is too long fails unescaped.
  if (!HasRoom(text.size())) return;
  if (IsPlainText(text)) {
    Raw("\"");
    Append(text);
    return Append("\"");
  }
  status_ = HeapAllowance::Admit(text.size());
  if (ok()) Raw(JsonLine(text));
}

void JsonWriter::Value(int64_t value) {
  const std::string digits = std::to_string(value);
  if (!IsExactInJson(value)) return Value(digits);
  Raw(digits);
}

void JsonWriter::Value(double value) {
  std::string digits = "null";
  if (std::isfinite(value)) {
    digits.clear();
    AppendFloat(value, digits);
  }
  Raw(digits);
}

void JsonWriter::Base64(std::string_view bytes) {
  // Encodes a piece at a time, so that there is no second copy of the encoded
  // text. The size of a piece is a multiple of 3: only the last one is padded.
  constexpr size_t kPiece = 48 * size_t{1024};
  static_assert(kPiece % 3 == 0);
  if (!HasRoom(bytes.size())) return;
  Raw("\"");
  for (; !bytes.empty() && ok();
       bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
    Append(ctxfs::Base64(bytes.substr(0, kPiece)));
  }
  Append("\"");
}

void JsonWriter::Raw(std::string_view json) {
  Separate();
  Append(json);
}

void JsonWriter::Append(std::string_view text) {
  if (text.empty() || !HasRoom(text.size())) return;
  if (charge_) status_ = charge_(text.size());
  if (ok() && text.size() > text_.capacity() - text_.size()) {
    status_ = AdmitGrowth(text_, text.size());
  }
  if (ok()) text_ += text;
}

bool JsonWriter::HasRoom(uint64_t bytes) {
  if (ok() && bytes > limit_ - text_.size()) status_ = too_long_;
  return ok();
}

Result<std::string> JsonWriter::Take() && {
  if (!ok()) return std::move(status_).error();
  return std::move(text_);
}

template <typename T>
void AppendFloat(T value, std::string& text) {
  char digits[40];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value);
  const size_t before = text.size();
  text.append(std::begin(digits), end.ptr);
  if (text.find_first_of(".e", before) == std::string::npos) text += ".0";
}
template void AppendFloat(float value, std::string& text);
template void AppendFloat(double value, std::string& text);

}  // namespace ctxfs
