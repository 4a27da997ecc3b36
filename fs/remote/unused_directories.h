// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ctxfs {

// Directories that are made before it is known whether anything will be put in
// them, such as the cache for a URL that may not open.

/// Returns the absolute path `directory` and those above it that do not exist,
/// outermost first. Empty if all exist.
std::vector<std::string> MissingDirectories(const std::string& directory);

/// Whether nothing was put into the directory, and no other process has called
/// Touch, since it was made. True if the file system has no times of creation.
bool IsUntouched(int directory);

/// Makes IsUntouched false, so that another process does not remove the
/// directory.
void Touch(int directory);

/// Removes the directories `made`, which MissingDirectories returned and which
/// were made since: from the innermost outwards, up to the first that is not
/// empty. Removes none if the innermost is touched.
void RemoveUnused(const std::vector<std::string>& made);

}  // namespace ctxfs
