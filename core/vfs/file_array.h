// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/entry.h"
#include "core/container/exports.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/vfs/source_tree.h"

namespace ctxfs {

/// The path of the directory of `path`; empty for the source itself.
std::string DirectoryOfPath(const std::string& path);

/// The container at a directory, or the innermost one around it. Fails with
/// kNotContainer if there is none.
Result<std::shared_ptr<const Container>> ContainerAround(
    SourceTree& tree, SourceTree::File directory);

/// Returns the array that a file of a container stores, if it is a usual one
/// (IsUsual); else nullopt. If the bytes of the file are exactly the elements,
/// the array has these bytes. Otherwise it is the exported array with the name
/// of the file, such as the values of a quantised tensor. `info` describes the
/// file, and `content` has its bytes.
std::optional<ArrayInfo> ArrayOfFile(SourceTree& tree,
                                     const SourceTree::File& file,
                                     const EntryInfo& info,
                                     const Content& content,
                                     const ReadContext& context);

}  // namespace ctxfs
