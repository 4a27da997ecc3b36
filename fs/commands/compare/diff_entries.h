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

/// How an entry differs between the two sides.
enum class DiffKind : uint8_t {
  kSame,
  kChanged,
  kRenamed,  // same bytes under another name
  kRemoved,
  kAdded,
  kFailed,  // the comparison failed
};
constexpr size_t kDiffKinds = 6;

const char* DiffKindName(DiffKind kind);

/// The result of comparing an entry.
struct EntryDifference {
  DiffKind kind = DiffKind::kSame;
  const DiffEntry* first = nullptr;   // null: added
  const DiffEntry* second = nullptr;  // null: removed
  bool type_changed = false;          // dtype or shape
  /// The first differing byte, if bytes were compared.
  std::optional<uint64_t> offset = std::nullopt;
  /// For two JSON texts: JSON pointers of the differences, with both values.
  std::vector<std::string> keys = {};
  std::optional<ValueDifference> values = std::nullopt;
  std::optional<std::string> no_values = std::nullopt;  // why `values` is empty
  std::optional<Error> error = std::nullopt;            // of kFailed

  const DiffEntry& any() const { return first != nullptr ? *first : *second; }
};

/// How to compare two sides.
struct DiffOptions {
  bool values = false;  // --values
  unsigned jobs = 1;    // threads
};

/// Compares all entries of two sides: dtype and shape first, then stored
/// checksums, then bytes up to the first difference, read once and in windows.
/// The result is sorted by name.
std::vector<EntryDifference> DiffEntries(const DiffSide& first,
                                         const DiffSide& second,
                                         const DiffOptions& options,
                                         Progress& progress);

}  // namespace ctxfs
