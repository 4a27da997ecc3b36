// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/container/file_table.h"

namespace ctxfs {

class ContainerTree;

/// `.ctxfs/faults.json` (docs/tree.md, section 5): an array with one object per
/// line for each known fault of the container. First come the faults of its
/// index (with an empty path for the container itself), then the faults found
/// by reading files. Each of the two lists has at most FaultLedger::kMaxFaults;
/// a last object counts the rest. Live: each Open returns the faults known by
/// then. `tree` must outlive the table and is first used by Open.
std::shared_ptr<const FileTable> FaultsJson(const ContainerTree& tree);

}  // namespace ctxfs
