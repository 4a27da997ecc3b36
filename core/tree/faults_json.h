// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/container/file_table.h"

namespace ctxfs {

class ContainerTree;

/// `.ctxfs/faults.json` (docs/tree.md, section 5): an array with an object for
/// each fault of the container that is known by now, one per line. First those
/// of the container itself, with an empty path, and those of files that its
/// index tells of; then those that reading files has found. No more than
/// FaultLedger::kMostFaults of either; a last object counts the rest. Live.
/// `tree` outlives the table, and is not read before the first Open.
std::shared_ptr<const FileTable> FaultsJson(const ContainerTree& tree);

}  // namespace ctxfs
