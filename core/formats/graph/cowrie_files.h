// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/container/file_table.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::graph {

/// Returns views/json/NAME.json: the entries that are cowrie values according
/// to the index, and not locked, as JSON (docs/formats/cowrie.md, section 2).
std::shared_ptr<const FileTable> CowrieFiles(
    std::shared_ptr<const shard::ShardContainer> shard);

}  // namespace ctxfs::graph
