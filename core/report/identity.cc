// SPDX-License-Identifier: Apache-2.0
#include "core/report/identity.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "core/report/script_json.h"

namespace ctxfs {

Identity Identity::Of(const Container& container, const ReadContext& context) {
  Identity identity;
  const auto* const says = dynamic_cast<const SaysFacts*>(&container);
  if (says == nullptr) return identity;
  if (Status read = says->AddFacts(context, identity.facts); !read) {
    identity.error = std::move(read).error();
  }
  return identity;
}

Json Identity::FactsJson() const {
  Json all = Json::array();
  for (const Fact& fact : facts.all()) {
    all.push_back({{"key", fact.key},
                   {"value", fact.value},
                   {"unit", fact.unit.empty() ? Json() : Json(fact.unit)},
                   {"length", fact.length == 0 ? Json() : Json(fact.length)}});
  }
  return all;
}

Json Identity::PageFacts() const {
  Json shown = Json::array();
  for (const Fact& fact : facts.all()) {
    std::string text = FactText(fact);
    if (fact.value.is_number_float()) {
      const Json rounded = Rounded(fact.value.get<double>(), 4);
      text = fmt::format("{}{}{}", rounded.get<double>(),
                         fact.unit.empty() ? "" : " ", fact.unit);
    }
    shown.push_back({fact.key, std::move(text)});
  }
  return shown;
}

std::vector<std::string> Identity::Notes() const {
  std::vector<std::string> notes;
  if (facts.left_out() > 0) {
    notes.push_back(
        fmt::format("{} more facts are left out", Grouped(facts.left_out())));
  }
  if (error) notes.push_back("facts: " + error->Text());
  return notes;
}

std::string FactText(const Fact& fact) {
  if (fact.value.is_number_unsigned() && !fact.unit.empty()) {
    const auto number = fact.value.get<uint64_t>();
    // Avoids "samples 5 samples".
    if (fact.unit == fact.key) return Counted(number);
    std::string unit = fact.unit;
    if (number == 1 && unit.ends_with('s')) unit.pop_back();
    return Counted(number) + " " + unit;
  }
  std::string text = fact.value.is_string() ? fact.value.get<std::string>()
                                            : JsonLine(fact.value);
  if (fact.length != 0) {
    text += fmt::format("\xE2\x80\xA6 ({} bytes)", Grouped(fact.length));
  }
  return fact.unit.empty() ? text : text + " " + fact.unit;
}

std::string Grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Counted(uint64_t number) {
  constexpr std::array<std::pair<double, const char*>, 3> kNames = {
      {{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}}};
  for (const auto& [size, name] : kNames) {
    if (static_cast<double>(number) < size) continue;
    return fmt::format("{} ({:.1f} {})", Grouped(number),
                       static_cast<double>(number) / size, name);
  }
  return Grouped(number);
}

}  // namespace ctxfs
