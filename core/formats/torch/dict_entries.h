// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/torch/pickle.h"
#include "core/formats/torch/walk_budget.h"

namespace ctxfs::torch {

/// A key and its value.
struct Entry {
  NodeId key;
  NodeId value;
};

/// Whether a key can be a key of JSON: a text or an integer.
bool IsPlainKey(const Pickle& pickle, NodeId key);
/// A plain key as text.
std::string KeyText(const Pickle& pickle, NodeId key);

/// The decimal digits of a little-endian two's complement integer. Takes time
/// that grows faster than its length.
std::string DecimalDigits(std::string_view twos_complement);

// Where there is no memory for what these make, they stop, and
// HeapAllowance::Check fails.

/// Adds the entries of an alternating list of keys and values.
void AddEntries(const Pickle& pickle, uint32_t link,
                std::vector<Entry>& entries);

/// Adds the entries of an iterable of pairs, such as the list of an
/// OrderedDict. Returns false if an element is not a pair. Stops when the
/// budget is exhausted.
bool AddPairs(const Pickle& pickle, NodeId pairs, WalkBudget& budget,
              std::vector<Entry>& entries);

/// Keeps the last of the entries with one key, at the place of the first, as
/// Python does. Returns false if a number and a text, such as 1 and "1", would
/// be one key of JSON; both are kept. Stops when the budget is exhausted.
bool MergeEqualKeys(const Pickle& pickle, WalkBudget& budget,
                    std::vector<Entry>& entries);

}  // namespace ctxfs::torch
