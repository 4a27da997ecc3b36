// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/container/derived.h"
#include "core/formats/shard/shard.h"

namespace ctxfs {

/// views/json/NAME.json: entries that the index says are cowrie values, as JSON
/// (docs/cowrie.md, section 2).
std::shared_ptr<const DerivedFiles> CowrieFiles(
    std::shared_ptr<const ShardContainer> shard);

}  // namespace ctxfs
