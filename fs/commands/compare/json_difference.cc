// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/json_difference.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "core/base/json/json.h"
#include "core/report/script_json.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxDiffering = 20;
constexpr size_t kMaxShown = 60;  // bytes of a value

/// A value as text. A long value is cut, and its length is added.
std::string ShownValue(const Json* value) {
  if (value == nullptr) return "-";
  const std::string text = JsonLine(*value);
  if (text.size() <= kMaxShown) return text;
  return CutText(text, kMaxShown) + fmt::format(" ({} bytes)", text.size());
}

bool IsNan(const Json& value) {
  return value.is_number_float() && std::isnan(value.get<double>());
}

/// Escapes a key for a JSON pointer.
std::string Escape(const std::string& key) {
  std::string escaped;
  for (const char c : key) {
    escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return escaped;
}

class Walker {
 public:
  void Compare(const Json* a, const Json* b, const std::string& at) {
    if (a != nullptr && b != nullptr) {
      if (*a == *b || (IsNan(*a) && IsNan(*b))) return;
      if (a->is_object() && b->is_object()) {
        CompareMembers(*a, *b, at);
        return;
      }
    }
    if (++count_ > kMaxDiffering) return;
    lines_.push_back(at + ": " + ShownValue(a) + " -> " + ShownValue(b));
  }

  std::vector<std::string> Lines() && {
    if (count_ > kMaxDiffering) {
      lines_.push_back(fmt::format("and {} more", count_ - kMaxDiffering));
    }
    return std::move(lines_);
  }

 private:
  void CompareMembers(const Json& a, const Json& b, const std::string& at) {
    for (const auto& [key, value] : a.items()) {
      const auto other = b.find(key);
      Compare(&value, other == b.end() ? nullptr : &*other,
              at + "/" + Escape(key));
    }
    for (const auto& [key, value] : b.items()) {
      if (a.contains(key)) continue;
      Compare(nullptr, &value, at + "/" + Escape(key));
    }
  }

  size_t count_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> JsonDifference(std::string_view first,
                                        std::string_view second) {
  const Result<ParsedJson> a = ParseJson(first, JsonDialect::kPython);
  const Result<ParsedJson> b = ParseJson(second, JsonDialect::kPython);
  if (!a || !b) return {};
  Walker walker;
  walker.Compare(&a->value, &b->value, "");
  return std::move(walker).Lines();
}

}  // namespace ctxfs
