// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/json/json.h"
#include "core/container/file_table.h"

namespace ctxfs {

class ContainerTree;

/// `.ctxfs/index.json` (docs/tree.md, section 5): an array of one object per
/// entry, in index order, one per line. The text is generated in blocks of many
/// entries, so that ten million entries take no more memory than one block. The
/// first Open generates all blocks, to find the size of the text; then the
/// sizes of blocks are kept. `tree` must outlive the table and its contents,
/// and is not used before the first Open.
std::shared_ptr<const FileTable> IndexJson(const ContainerTree& tree);

Json EntryJson(const EntryInfo& info, const std::string& path);

}  // namespace ctxfs
