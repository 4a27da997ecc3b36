// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/io/source.h"

namespace ctxfs::megacontext {

/// Opens a snapshot of a tree as a source: a `directory` at `path` in the tree,
/// without directories of its own. Its files may be links into the tree, so
/// they are opened beneath the tree, not beneath `directory`.
std::shared_ptr<const Source> OpenSnapshot(
    std::shared_ptr<const Source> tree, std::shared_ptr<const Source> directory,
    std::string path);

}  // namespace ctxfs::megacontext
