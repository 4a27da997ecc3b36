// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json_events.h"
#include "core/base/limits.h"

namespace ctxfs {
namespace {

/// Passes events to a JsonVisitor, with their paths, and limits the depth.
class Walker final : public JsonEvents {
 public:
  explicit Walker(JsonVisitor& visitor) : visitor_(visitor) {}

  void OnScalar(const JsonScalar& scalar) override {
    if (passing_over_ == 0) visitor_.Scalar(path_, AsJson(scalar));
  }
  void OnKey(std::string& key) override {
    if (passing_over_ == 0) path_.back() = std::move(key);
  }
  void OnOpen(bool is_array) override {
    if (depth() >= limits::kJsonDepth) {
      return Fail({Code::kLimit, "JSON nested too deeply", kNoOffset});
    }
    if (passing_over_ > 0 || !visitor_.Enter(path_, is_array)) {
      ++passing_over_;
    } else {
      path_.emplace_back();
    }
  }
  void OnClose() override {
    if (passing_over_ > 0) {
      --passing_over_;
    } else {
      path_.pop_back();
      visitor_.Leave(path_);
    }
  }

 private:
  JsonVisitor& visitor_;
  JsonVisitor::Path path_;
  size_t passing_over_ = 0;  // open levels of the value that is skipped
};

/// Builds a Json in `root`.
class Builder final : public JsonVisitor {
 public:
  explicit Builder(Json& root) : root_(root) {}

  bool Enter(const Path& path, bool is_array) override {
    if (!Count()) return false;
    open_.push_back(Place(path, is_array ? Json::array() : Json::object()));
    return true;
  }
  void Leave(const Path& /*path*/) override { open_.pop_back(); }
  void Scalar(const Path& path, Json value) override {
    if (Count()) Place(path, std::move(value));
  }

  /// Whether there were too many values. If so, `root` is incomplete.
  bool too_many() const { return count_ > limits::kJsonValues; }

 private:
  bool Count() {
    if (!too_many()) ++count_;
    return !too_many();
  }

  Json* Place(const Path& path, Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      // Drops the value if its memory is refused: HeapAllowance::Check then
      // fails the parsing at the next event.
      auto& elements = parent.get_ref<Json::array_t&>();
      if (elements.empty() || AdmitGrowth(elements)) {
        elements.push_back(std::move(value));
      }
      return &elements.back();
    }
    return &(parent[path.back()] = std::move(value));
  }

  Json& root_;
  uint64_t count_ = 0;
  std::vector<Json*> open_;  // the enclosing values, outermost first
};

/// Text that grows only while the HeapAllowance admits it. After a refusal it
/// stays incomplete, and the work fails at its next HeapAllowance::Check().
class AdmittedText final
    : public nlohmann::detail::output_adapter_protocol<char> {
 public:
  void write_character(char c) override { write_characters(&c, 1); }
  void write_characters(const char* characters, size_t length) override {
    ended_ = ended_ || !AppendAdmitted(text_, {characters, length});
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool ended_ = false;
};

/// Like Json::dump, but replaces bytes that are not UTF-8 by U+FFFD, and cuts
/// the text when the HeapAllowance refuses memory.
std::string Text(const Json& value, int indent) {
  auto out = std::make_shared<AdmittedText>();
  nlohmann::detail::serializer<Json> writer(out, ' ',
                                            Json::error_handler_t::replace);
  writer.dump(value, indent >= 0, /*ensure_ascii=*/false,
              static_cast<unsigned>(std::max(indent, 0)));
  return out->Take();
}

}  // namespace

Json AsJson(const JsonScalar& scalar) {
  const auto make = [](auto value) -> Json {
    if constexpr (std::is_pointer_v<decltype(value)>) {
      return std::move(*value);
    } else {
      return value;
    }
  };
  return std::visit(make, scalar);
}

Result<size_t> WalkJson(std::string_view text, JsonDialect dialect,
                        JsonVisitor& visitor, const Request& request) {
  if (text.size() > limits::kJsonBytes) {
    return Error{Code::kLimit, fmt::format("JSON of {} bytes is over the limit",
                                           text.size())};
  }
  Walker walker(visitor);
  return ReadJson(text, dialect, JsonExtent::kFirstValue, walker, request);
}

Result<ParsedJson> ParseJson(std::string_view text, JsonDialect dialect) {
  return ParseJson(text, Request(), dialect);
}

Result<ParsedJson> ParseJson(std::string_view text, const Request& request,
                             JsonDialect dialect) {
  ParsedJson parsed{Json(), 0};
  Builder builder(parsed.value);
  const size_t length = CTXFS_TRY(WalkJson(text, dialect, builder, request));
  if (builder.too_many()) {
    return Error{Code::kLimit,
                 fmt::format("JSON of more than {} values is over the limit",
                             limits::kJsonValues)};
  }
  parsed.length = length;
  return parsed;
}

const Json* MemberAt(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string TextAt(const Json& object, const char* key) {
  const Json* text = MemberAt(object, key);
  if (text == nullptr || !text->is_string()) return {};
  return text->get<std::string>();
}

std::optional<uint64_t> CountAt(const Json& object, const char* key) {
  const Json* count = MemberAt(object, key);
  if (count == nullptr || !count->is_number_unsigned()) return std::nullopt;
  return count->get<uint64_t>();
}

Json SignedJson(int64_t value) {
  return IsExactInJson(value) ? Json(value) : Json(std::to_string(value));
}

Json UnsignedJson(uint64_t value) {
  const bool exact =
      value <= INT64_MAX && IsExactInJson(static_cast<int64_t>(value));
  return exact ? Json(value) : Json(std::to_string(value));
}

Json FloatJson(float value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  const char* end = std::to_chars(text, std::end(text), value).ptr;
  double shortest = 0;
  std::from_chars(text, end, shortest);
  return shortest;
}

std::string JsonLine(const Json& value) { return Text(value, -1); }

std::string AsUtf8(std::string_view text) {
  // If the HeapAllowance refuses memory, the line is cut and therefore not
  // JSON; the result is then empty.
  const Json whole = Json::parse(JsonLine(text), nullptr, false);
  return whole.is_string() ? whole.get<std::string>() : std::string();
}

std::string FormatJson(const Json& value) {
  std::string text = Text(value, 1);
  text += '\n';
  return text;
}

}  // namespace ctxfs
