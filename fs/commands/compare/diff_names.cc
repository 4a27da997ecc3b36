// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/diff_names.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/interfaces/has_hub_names.h"

namespace ctxfs {
namespace {

std::optional<NamesOnHub> NamesOf(const DiffSide& side) {
  const auto* const named =
      dynamic_cast<const HasHubNames*>(side.container().get());
  return named != nullptr ? named->FindHubNames(side.context()) : std::nullopt;
}

bool HasArray(const DiffSide& side, std::string_view name) {
  const auto found = side.entries().find(name);
  return found != side.entries().end() && found->second.is_array();
}

bool HasCommonArray(const DiffSide& a, const DiffSide& b) {
  return std::ranges::any_of(a.entries(), [&b](const auto& one) {
    return one.second.is_array() && HasArray(b, one.first);
  });
}

/// The prefix of the names in the hub's model.
std::string_view PrefixOf(const DiffSide& hub) {
  const auto* const found =
      std::ranges::find_if(kHubPrefixes, [&hub](std::string_view prefix) {
        return HasArray(hub, std::string(prefix) + "embed_tokens.weight");
      });
  return found != kHubPrefixes.end() ? *found : kHubPrefixes.front();
}

/// Maps the names of `converted` to names in `hub`.
std::optional<MappedNames> MapTo(DiffSide& hub, DiffSide& converted,
                                 const NamesOnHub& names) {
  if (hub.container() == nullptr || HasCommonArray(converted, hub)) {
    return std::nullopt;
  }
  const std::string_view prefix = PrefixOf(hub);
  std::vector<std::pair<std::string, HubArray>> found;
  for (const auto& [name, entry] : converted.entries()) {
    if (!entry.is_array()) continue;
    std::optional<HubArray> array = names.find(name, prefix);
    if (array && HasArray(hub, array->name)) {
      found.emplace_back(name, *std::move(array));
    }
  }
  MappedNames mapped{names.architecture};
  for (const auto& [name, array] : found) {
    if (!converted.Rename(name, array.name)) continue;
    hub.Convert(array);
    ++mapped.arrays;
  }
  if (mapped.arrays == 0) return std::nullopt;
  return mapped;
}

}  // namespace

std::optional<MappedNames> MapNames(DiffSide& first, DiffSide& second) {
  const std::optional<NamesOnHub> a = NamesOf(first);
  const std::optional<NamesOnHub> b = NamesOf(second);
  if (a.has_value() == b.has_value()) return std::nullopt;
  return a ? MapTo(second, first, *a) : MapTo(first, second, *b);
}

}  // namespace ctxfs
