// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/global_names.h"

#include <functional>
#include <utility>

#include "core/formats/torch/limits.h"
#include "core/formats/torch/names.h"

namespace ctxfs::torch {
namespace {

/// A name as it is listed.
std::string ShortName(std::string_view name) {
  if (name.size() <= kMostListedName) return std::string(name);
  return std::string(name.substr(0, kMostListedName)) + "... (" +
         std::to_string(name.size()) + " bytes)";
}

}  // namespace

void GlobalNames::Add(std::string_view name) {
  Kind& kind = IsKnownName(name)                ? known_
               : name.starts_with("__torch__.") ? script_
                                                : unknown_;
  std::string shown = ShortName(name);
  if (kind.listed.contains(shown)) return;
  if (kind.listed.size() < kMostGlobals) {
    kind.listed.insert(std::move(shown));
  } else if (kind.others.size() < kMostCounted) {
    kind.others.insert(std::hash<std::string_view>{}(name));
  }
}

void GlobalNames::SetIncomplete(std::string why) {
  if (gap_.empty()) gap_ = std::move(why);
}

std::vector<GlobalNames::Listed> GlobalNames::List(bool script) const {
  std::vector<Listed> list;
  const auto add = [&list](const Kind& kind, bool safe) {
    for (const std::string& name : kind.listed) {
      if (list.size() == kMostGlobals) return;
      list.push_back({name, safe});
    }
  };
  add(unknown_, /*safe=*/false);
  add(script_, script);
  add(known_, /*safe=*/true);
  return list;
}

uint64_t GlobalNames::Count() const {
  return unknown_.Count() + script_.Count() + known_.Count();
}

uint64_t GlobalNames::CountUnsafe(bool script) const {
  return unknown_.Count() + (script ? 0 : script_.Count());
}

}  // namespace ctxfs::torch
