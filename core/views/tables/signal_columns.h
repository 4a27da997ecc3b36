// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/container/interfaces/has_episode.h"
#include "core/container/table.h"

namespace ctxfs {

/// The signals of an episode as a table of numbers (docs/views.md, section
/// 11).
struct SignalTable {
  Table table;  // its first column is the time, or the number of the step
  size_t signals = 0;  // signals that have columns
  std::vector<Episode::Omission> left_out;
};

/// Makes a column of each component of each signal. Signals that cannot have
/// columns, for instance because they have too many components, are in
/// `left_out`. Opens no array.
SignalTable MakeSignalTable(const Episode& episode);

/// Puts an apostrophe before a column's name that a spreadsheet would run as a
/// formula.
std::string WithoutFormula(std::string name);

}  // namespace ctxfs
