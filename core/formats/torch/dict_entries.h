// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/torch/pickle.h"
#include "core/formats/torch/walk_budget.h"

namespace ctxfs::torch {

struct Entry {
  NodeId key;
  NodeId value;
};

/// Whether a key can be a JSON key: a text or an integer.
bool IsPlainKey(const Pickle& pickle, NodeId key);
std::string KeyText(const Pickle& pickle, NodeId key);

/// Converts little-endian two's complement to decimal. The time is more than
/// linear.
std::string DecimalDigits(std::string_view twos_complement);

// If memory is refused, the functions below stop early; HeapAllowance::Check
// then fails.

/// Appends the entries of an alternating list of keys and values.
void AddEntries(const Pickle& pickle, uint32_t link,
                std::vector<Entry>& entries);

/// Appends the entries of a list or tuple of pairs, such as the list of an
/// OrderedDict. Returns false if an element is not a pair. Stops when the
/// budget is exhausted.
bool AddPairs(const Pickle& pickle, NodeId pairs, WalkBudget& budget,
              std::vector<Entry>& entries);

/// Like Python, keeps the last value of equal keys, at the position of the
/// first. Returns false if a number and a text, such as 1 and "1", would
/// collide as JSON keys; both entries remain. Stops when the budget is
/// exhausted.
bool MergeEqualKeys(const Pickle& pickle, WalkBudget& budget,
                    std::vector<Entry>& entries);

}  // namespace ctxfs::torch
