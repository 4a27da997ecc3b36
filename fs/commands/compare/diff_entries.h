// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/report/sections/value_difference.h"
#include "fs/commands/compare/diff_side.h"
#include "fs/commands/progress.h"

namespace ctxfs {

/// How an entry of the first side differs in the second.
enum class DiffKind : uint8_t {
  kSame,
  kChanged,
  kRenamed,  // another name, and the same bytes
  kRemoved,
  kAdded,
  kFailed,  // it could not be compared
};
constexpr size_t kDiffKinds = 6;

/// The name of a kind: "changed".
const char* DiffKindName(DiffKind kind);

/// The result of comparing an entry.
struct EntryDifference {
  DiffKind kind = DiffKind::kSame;
  const DiffEntry* first = nullptr;   // null: it was added
  const DiffEntry* second = nullptr;  // null: it was removed
  bool type_changed = false;          // the dtype or the shape
  /// The first byte that differs, if bytes were compared.
  std::optional<uint64_t> offset = std::nullopt;
  /// Of two JSON texts, what differs: a pointer into them, and both values.
  std::vector<std::string> keys = {};
  std::optional<ValueDifference> values = std::nullopt;
  std::optional<std::string> no_values = std::nullopt;  // why there are none
  std::optional<Error> error = std::nullopt;            // of kFailed

  const DiffEntry& any() const { return first != nullptr ? *first : *second; }
};

/// How to compare two sides.
struct DiffOptions {
  bool values = false;  // --values
  unsigned jobs = 1;    // threads
};

/// Compares all entries of two sides, each by what tells soonest: dtype and
/// shape, stored checksums, and then the bytes, which are read once, in
/// windows, up to the first that differs. In the order of the names.
std::vector<EntryDifference> DiffEntries(const DiffSide& first,
                                         const DiffSide& second,
                                         const DiffOptions& options,
                                         Progress& progress);

}  // namespace ctxfs
