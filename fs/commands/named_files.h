// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/vfs/source_tree.h"

namespace ctxfs {

/// Finds the file at PATH of an operand SOURCE//PATH. The Error of a path that
/// does not exist suggests the one that was probably meant.
Result<SourceTree::File> FindNamed(SourceTree& tree, const std::string& path,
                                   bool follow = true);

/// Receives a file that a PATH names. `matched`: by a pattern.
using VisitNamed =
    std::function<Status(const SourceTree::File& file, bool matched)>;
using OnLost = std::function<void(const std::string& path, const Error& error)>;

/// Calls `visit` with each file that PATH names, until a call fails. A name of
/// PATH that does not exist and has characters of a pattern (Glob) stands for
/// all listed names that match it. Follows links, of the last name only if
/// `follow` is set. Calls `lost` with each match that cannot be found. Takes
/// memory for the names of one plain directory per level. Fails with kNotFound
/// if nothing matches.
Status ForEachNamed(SourceTree& tree, const std::string& path, bool follow,
                    const VisitNamed& visit, const OnLost& lost);

/// The part of PATH before the first name that has characters of a pattern and
/// does not exist; all of PATH if there is no such name.
std::string LiteralPart(SourceTree& tree, const std::string& path);

/// Like SourceTree::ForEach, but the names of a directory that is not in a
/// container are sorted by their bytes, if they are fewer than 100,000.
Status ForEachSorted(
    SourceTree& tree, const SourceTree::File& directory,
    const std::function<Status(const SourceTree::File&)>& visit,
    const OnLost& lost = nullptr,
    SourceTree::Children children = SourceTree::Children::kFound);

/// Returns the directory of the contents of `file` if it is a container, else
/// `file` itself. Fails if the container does not parse.
Result<SourceTree::File> InsideOf(SourceTree& tree,
                                  const SourceTree::File& file);

}  // namespace ctxfs
