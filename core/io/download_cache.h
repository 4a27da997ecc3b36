// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/fd.h"

namespace ctxfs {

/// A download cache keeps the bytes of a repository's files in REPOSITORY/blobs
/// and their names as links in REPOSITORY/snapshots/REVISION and below
/// (docs/tree.md, section 10). Only such links may lead out of a directory.
///
/// Returns the path that a link in `directory` with the text `target` has to
/// lead to: REPOSITORY/blobs/NAME, if the link says exactly that, by one ".."
/// for each directory up to REPOSITORY. `directory` is absolute and without
/// links. Nothing is looked up: the path may be missing, or be a link itself.
std::optional<std::string> BlobOf(std::string_view directory,
                                  std::string_view target);

/// The same for the link `name` in an open directory; nothing if that is no
/// link.
std::optional<std::string> BlobOfLink(const Fd& directory,
                                      const std::string& name);

/// Returns REPOSITORY/blobs for each REPOSITORY in whose snapshots `directory`
/// may lie, by its path alone: mostly none or one.
std::vector<std::string> BlobsBeside(std::string_view directory);

}  // namespace ctxfs
