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

/// Returns the required target of a link in `directory` with the text `target`:
/// REPOSITORY/blobs/NAME, if the text is exactly that, with one ".." for each
/// directory up to REPOSITORY. `directory` is absolute and without links.
/// Touches no file: the target may be missing, or be a link itself.
std::optional<std::string> BlobOf(std::string_view directory,
                                  std::string_view target);

/// Like BlobOf, for the link `name` in an open directory; nothing if `name` is
/// no link.
std::optional<std::string> BlobOfLink(const Fd& directory,
                                      const std::string& name);

/// Returns the required target of a link with the text `target` at the path
/// `blob`: CACHE/blobs/XX/HASH, if the text is exactly "../../blobs/XX/HASH"
/// and `blob` is CACHE/TYPE--NAME/blobs/ETAG. Touches no file.
std::optional<std::string> StoreEntryOf(std::string_view blob,
                                        std::string_view target);

/// Returns the path of the bytes of the blob at `blob`: `blob` itself or, if
/// that is a link, an entry of the store. Returns nullopt for a link to
/// anywhere else.
std::optional<std::string> StoredAt(const std::string& blob);

/// Opens the file with the bytes of the blob at `blob`, which is absolute and
/// without links; on the way, no directory is entered through a link. Fails
/// with kCorrupt if the blob leads out of the cache, and with kNotFound if it
/// is missing.
Result<Fd> FindBlob(const std::string& blob);

/// If `path` is a link to a blob without an entry in the store, returns that as
/// the error; nullopt for any other path.
std::optional<Error> MissingFromStore(const std::string& path);

/// Describes the failure `error` to open another file of a model: "is missing",
/// or that it is not in the store.
std::string WhyMissing(const Error& error);

/// Returns the directories to which links below `directory` may lead, and those
/// that describe its files: REPOSITORY/blobs, REPOSITORY/trees and CACHE/blobs,
/// for each repository that can contain `directory` according to its path. They
/// may be missing.
std::vector<std::string> TreesBeside(std::string_view directory);

}  // namespace ctxfs
