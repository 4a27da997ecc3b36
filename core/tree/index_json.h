// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/json/json.h"
#include "core/container/file_table.h"

namespace ctxfs {

class ContainerTree;

/// `.ctxfs/index.json` (docs/tree.md, section 5): an array of one object per
/// entry, in index order, one per line. Generated in blocks of many entries, so
/// that ten million entries take no more memory than one block; the sizes of
/// blocks are kept. `tree` outlives the table and its contents, and is not read
/// before the first Open, which generates all of it to find its size.
std::shared_ptr<const FileTable> IndexJson(const ContainerTree& tree);

Json EntryJson(const EntryInfo& info, const std::string& path);

}  // namespace ctxfs
