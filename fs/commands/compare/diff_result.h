// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json/json.h"
#include "core/report/container_summary.h"
#include "fs/commands/arguments.h"
#include "fs/commands/compare/diff_entries.h"
#include "fs/commands/compare/diff_names.h"
#include "fs/commands/compare/diff_side.h"

namespace ctxfs {

/// The number of entries of each kind, and their bytes.
struct DiffTally {
  // Exit codes of a comparison.
  static constexpr int kSameCode = 0;
  static constexpr int kDifferentCode = 1;
  static constexpr int kFailedCode = 2;

  std::array<uint64_t, kDiffKinds> entries{};
  std::array<uint64_t, kDiffKinds> bytes{};

  void Add(const EntryDifference& one) {
    const auto kind = static_cast<size_t>(one.kind);
    ++entries[kind];
    bytes[kind] = AddUpTo(bytes[kind], one.any().size);
  }
  uint64_t Of(DiffKind kind) const {
    return entries[static_cast<size_t>(kind)];
  }
  int ExitCode() const;
  /// Returns the counts that are not zero, such as "2 changed, 1 added, 20
  /// same".
  std::string Text() const;
};

/// The result of `ctxfs diff`, for all kinds of output.
struct DiffResult {
  /// A container of a side that lacks entries; `source` is the operand.
  struct Incomplete {
    std::string source;
    IncompleteContainer container;
  };

  std::vector<EntryDifference> found;
  DiffTally tally;
  std::vector<Incomplete> incomplete;
  std::optional<MappedNames> names;

  /// The exit code of the tally; kFailedCode if a container is incomplete.
  int ExitCode() const;

  /// Confines the process to reading, opens both operands and compares them.
  /// `first` and `second` must not have been opened, and must outlive the
  /// result. Prints an error and returns nullopt if an operand cannot be
  /// opened, or if two models have no tensor name in common.
  static std::optional<DiffResult> Of(const Arguments& arguments,
                                      DiffSide& first, DiffSide& second);
};

/// The end of a bin of the histogram; nullopt for the last.
std::optional<double> BinEnd(size_t bin);

/// An entry of `ctxfs diff --json`: {"kind", "first", "second" and further
/// members about the difference}.
Json DifferenceJson(const EntryDifference& one);

/// The totals of `ctxfs diff --json`: {KIND: {"entries", "size"}}.
Json TallyJson(const DiffTally& tally);

/// The member "incomplete": [{"source", "path", "error"}].
Json IncompleteJson(const DiffResult& result);

/// The member "names": {"architecture", "mapped"}, or null.
Json NamesJson(const DiffResult& result);

}  // namespace ctxfs
