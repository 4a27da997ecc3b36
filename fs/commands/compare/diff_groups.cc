// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/diff_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/json/json.h"
#include "core/report/container_summary.h"
#include "fs/commands/compare/name_patterns.h"

namespace ctxfs {
namespace {

using Members = std::vector<const EntryDifference*>;

/// Returns "link" for a link, the dtype of an array, such as "f32", and "file"
/// for any other entry.
std::string NameOfType(const DiffEntry& entry) {
  if (entry.file.link) return "link";
  return entry.is_array() ? entry.dtype : "file";
}

std::string ShapeText(const DiffEntry& entry) {
  return entry.is_array() ? " " + JsonLine(entry.shape) : std::string();
}

bool ShapeChanges(const EntryDifference& one) {
  return one.first != nullptr && one.second != nullptr &&
         one.first->shape != one.second->shape;
}

/// Whether the output has nothing about this entry alone, so that it may share
/// the line of a group.
bool MayBeJoined(const EntryDifference& one) {
  return one.kind != DiffKind::kRenamed && one.keys.empty();
}

/// How far apart the values are, to a power of ten.
std::string Magnitude(const ValueDifference& values) {
  std::string text = values.unlike > 0 ? "unlike" : "";
  if (values.relative_l2 == 0 || std::isinf(values.relative_l2)) {
    return text + (values.relative_l2 == 0 ? "same" : "infinite");
  }
  return text + std::to_string(std::lround(std::log10(values.relative_l2)));
}

/// What the entries of a group have in common.
std::string ClassOf(const EntryDifference& one) {
  std::string text = DiffKindName(one.kind);
  for (const DiffEntry* const entry : {one.first, one.second}) {
    text += '\n';
    if (entry == nullptr) continue;
    text += NameOfType(*entry);
    if (ShapeChanges(one)) text += ShapeText(*entry);
  }
  text += "\n" + one.no_values.value_or("");
  if (one.values) text += Magnitude(*one.values);
  if (one.error) text += one.error->Text();
  return text;
}

uint64_t SizeOf(const DiffEntry* entry) {
  return entry == nullptr ? 0 : entry->size;
}

DiffGroup GroupOf(Members members, std::string pattern) {
  DiffGroup group{.pattern = std::move(pattern), .entries = std::move(members)};
  group.values = group.front().values;
  for (const EntryDifference* const one : group.entries) {
    group.first_bytes = AddUpTo(group.first_bytes, SizeOf(one->first));
    group.second_bytes = AddUpTo(group.second_bytes, SizeOf(one->second));
    if (group.values && one != group.entries.front()) {
      group.values->Add(*one->values);
    }
  }
  return group;
}

void AddGroups(const Members& members, std::vector<DiffGroup>& groups) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const EntryDifference* const one : members) {
    names.push_back(one->any().path);
  }
  for (NamePattern& pattern : PatternsOf(names)) {
    Members joined;
    for (const size_t i : pattern.names) joined.push_back(members[i]);
    const bool several = joined.size() > 1;
    groups.push_back(
        GroupOf(std::move(joined), several ? std::move(pattern.text) : ""));
  }
}

bool IsShownBefore(const DiffGroup& a, const DiffGroup& b) {
  const auto order = [](const DiffGroup& group) {
    const bool unlike = group.values && group.values->unlike > 0;
    // Groups with greater differences come first.
    return std::tuple(group.kind(), !unlike, !group.values.has_value(),
                      group.values ? -group.values->relative_l2 : 0);
  };
  const auto x = order(a);
  const auto y = order(b);
  if (x != y) return x < y;
  if (a.bytes() != b.bytes()) return a.bytes() > b.bytes();
  return a.front().any().path < b.front().any().path;
}

/// Whether all arrays of the group have the shape of its first.
bool HasOneShape(const DiffGroup& group) {
  return std::ranges::all_of(group.entries, [&](const EntryDifference* one) {
    return one->any().shape == group.front().any().shape;
  });
}

}  // namespace

std::vector<DiffGroup> GroupsOf(const std::vector<EntryDifference>& found) {
  std::vector<DiffGroup> groups;
  std::map<std::string, Members> classes;
  for (const EntryDifference& one : found) {
    if (one.kind == DiffKind::kSame) continue;
    if (MayBeJoined(one)) {
      classes[ClassOf(one)].push_back(&one);
    } else {
      groups.push_back(GroupOf({&one}, ""));
    }
  }
  for (const auto& [name, members] : classes) AddGroups(members, groups);
  std::ranges::sort(groups, &IsShownBefore);
  return groups;
}

std::string TypeText(const DiffGroup& group) {
  const EntryDifference& one = group.front();
  const DiffEntry& entry = one.any();
  const bool changes = one.type_changed;
  if (!changes && !entry.is_array()) return {};
  if (changes &&
      (ShapeChanges(one) || !entry.is_array() || !one.second->is_array())) {
    return NameOfType(*one.first) + ShapeText(*one.first) + " -> " +
           NameOfType(*one.second) + ShapeText(*one.second);
  }
  const std::string shape = HasOneShape(group) ? ShapeText(entry) : "";
  if (!changes) return NameOfType(entry) + shape;
  return NameOfType(*one.first) + shape + " -> " + NameOfType(*one.second) +
         shape;
}

}  // namespace ctxfs
