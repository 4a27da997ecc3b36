// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/report/sections/value_difference.h"
#include "fs/commands/compare/diff_entries.h"

namespace ctxfs {

/// Entries that differ alike: one line of `ctxfs diff`.
struct DiffGroup {
  /// The NamePattern of the paths of several entries; empty for a single entry.
  std::string pattern;
  std::vector<const EntryDifference*> entries;  // in the order of the names
  uint64_t first_bytes = 0;
  uint64_t second_bytes = 0;
  /// The difference of all entries as one array, if every entry has values.
  std::optional<ValueDifference> values = std::nullopt;

  const EntryDifference& front() const { return *entries.front(); }
  DiffKind kind() const { return front().kind; }
  /// Bytes of the first side, or of the added entries.
  uint64_t bytes() const {
    return kind() == DiffKind::kAdded ? second_bytes : first_bytes;
  }
};

/// Groups the entries of `found` that differ. The entries of a group are of one
/// kind and type, their values differ by about as much, and one pattern covers
/// their paths. Changed entries come first, then renamed, removed, added and
/// failed ones. Within a kind, the most changed group comes first: by values if
/// they were compared, else by bytes.
std::vector<DiffGroup> GroupsOf(const std::vector<EntryDifference>& found);

/// Returns "f32 [2,3]", "f32 -> q8_0 [2,3]" or "file -> link", for example;
/// without the shape if the entries of the group differ in it. Empty for files.
std::string TypeText(const DiffGroup& group);

}  // namespace ctxfs
