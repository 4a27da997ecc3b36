// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

// A download cache stores the bytes of a repository's files in REPOSITORY/blobs
// and their names as links in REPOSITORY/snapshots/REVISION and below
// (docs/tree.md, section 10). A blob may itself be a link to a file of the
// store that the repositories of the cache share, CACHE/blobs/XX/HASH. Only
// such links may lead out of a directory.

/// Folders of repositories are named "TYPE--NAME" or "TYPE--ORG--NAME".
inline constexpr std::array<std::string_view, 4> kRepositoryTypes = {
    "models", "datasets", "spaces", "kernels"};
inline constexpr std::string_view kRepositorySeparator = "--";

/// Whether `name` is a valid name of a repository's folder.
bool IsRepositoryFolder(std::string_view name);

/// Whether `text` is a commit: 40 hex digits in lower case.
bool IsCommit(std::string_view text);

/// Returns the path of the blob, REPOSITORY/blobs/NAME, to which a link in
/// `directory` with the text `target` leads. Returns nullopt unless `directory`
/// is REPOSITORY/snapshots/REVISION or below it, and the text is one ".." for
/// each directory up to REPOSITORY and then blobs/NAME. `directory` must be
/// absolute and without links. Does not access the file system: the blob may be
/// missing, or be a link itself.
std::optional<std::string> BlobOf(std::string_view directory,
                                  std::string_view target);

/// Like BlobOf, for the link `name` in an open directory; nullopt if `name` is
/// not a link.
std::optional<std::string> BlobOfLink(const Fd& directory,
                                      const std::string& name);

/// Returns the path of the entry of the store, CACHE/blobs/XX/HASH, to which a
/// link at the path `blob` with the text `target` leads. Returns nullopt unless
/// the text is "../../blobs/XX/HASH" and `blob` is CACHE/TYPE--NAME/blobs/ETAG.
/// Does not access the file system.
std::optional<std::string> StoreEntryOf(std::string_view blob,
                                        std::string_view target);

/// Returns the path of the bytes of the blob at `blob`: `blob` itself or, if
/// that is a link, an entry of the store. Returns nullopt for a link to
/// anywhere else.
std::optional<std::string> StoredAt(const std::string& blob);

/// Finds the file with the bytes of a blob: the one at `blob` or, if that is a
/// link, the entry of the store to which it leads. `blob` is an absolute path
/// whose directories are no links. Fails with kCorrupt if a directory on the
/// way is a link or the blob leads out of the cache, and with kNotFound if the
/// blob or the entry is missing.
Result<Fd> FindBlob(const std::string& blob);

/// If `path` is a link to a blob whose entry in the store is missing, returns
/// the Error that says so; nullopt for any other path.
std::optional<Error> MissingFromStore(const std::string& path);

/// Describes `error`, a failure to open another file of a model: "is missing",
/// and if its blob is not in the store, this reason.
std::string WhyMissing(const Error& error);

/// Returns three directories for each repository that can contain `directory`
/// according to its path. Links below `directory` may lead to REPOSITORY/blobs
/// and CACHE/blobs, and REPOSITORY/trees describes its files. The directories
/// need not exist. CACHE/blobs is omitted if the name of the repository's
/// folder is not valid (IsRepositoryFolder).
std::vector<std::string> TreesBeside(std::string_view directory);

}  // namespace ctxfs
