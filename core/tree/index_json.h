// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"
#include "core/tree/tree.h"

namespace ctxfs {

/// `.ctxfs/index.json` (docs/tree.md, section 2): an array of one object an
/// entry, in index order, each on a line. Made through the cache under `key`.
/// `container` and `tree` outlive the content.
Result<Content> OpenIndexJson(Key key, const Container& container,
                              const Tree& tree, BlockCache& cache);

/// One entry's object: what index.json has, and `ctxfs info`.
Json EntryJson(const EntryInfo& info, const std::string& path);

}  // namespace ctxfs
