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

// A download cache keeps the bytes of a repository's files in REPOSITORY/blobs
// and their names as links in REPOSITORY/snapshots/REVISION and below
// (docs/tree.md, section 10). A blob may itself be a link to a file of the
// store that the repositories of the cache share, CACHE/blobs/XX/HASH. Only
// such links may lead out of a directory.

/// The folders of repositories are called "TYPE--NAME" or "TYPE--ORG--NAME".
inline constexpr std::array<std::string_view, 4> kRepositoryTypes = {
    "models", "datasets", "spaces", "kernels"};
inline constexpr std::string_view kRepositorySeparator = "--";

/// Whether the folder of a repository may be called so.
bool IsRepositoryFolder(std::string_view name);

/// Whether `text` is a commit: 40 hex digits in lower case.
bool IsCommit(std::string_view text);

/// Returns the path that a link in `directory` with the text `target` has to
/// lead to: REPOSITORY/blobs/NAME, if the link says exactly that, by one ".."
/// for each directory up to REPOSITORY. `directory` is absolute and without
/// links. Nothing is looked up: the path may be missing, or be a link itself.
std::optional<std::string> BlobOf(std::string_view directory,
                                  std::string_view target);

/// Like BlobOf, for the link `name` in an open directory; nothing if that is no
/// link.
std::optional<std::string> BlobOfLink(const Fd& directory,
                                      const std::string& name);

/// Returns the path that the link in the place of a blob, whose text is
/// `target`, has to lead to: CACHE/blobs/XX/HASH, if the text is exactly
/// "../../blobs/XX/HASH" and `blob` is CACHE/TYPE--NAME/blobs/ETAG. Nothing is
/// looked up.
std::optional<std::string> StoreEntryOf(std::string_view blob,
                                        std::string_view target);

/// Returns where the bytes of the blob at `blob` have to be, by the text of a
/// link in its place: `blob` itself or an entry of the store. Returns nullopt
/// for a link to anywhere else.
std::optional<std::string> StoredAt(const std::string& blob);

/// Finds the file with the bytes of the blob at `blob`, which is absolute and
/// without links, and opens no directory on the way through a link. Fails with
/// kCorrupt if the blob leads out, and with kNotFound if it is missing.
Result<Fd> FindBlob(const std::string& blob);

/// Returns why the file at `path` is missing, if that is a link to a blob that
/// has no entry in the store; nullopt for any other path.
std::optional<Error> MissingFromStore(const std::string& path);

/// Returns what to say of another file of a model that cannot be opened with
/// `error`: "is missing", or that it is not in the store.
std::string WhyMissing(const Error& error);

/// Returns the directories that links below `directory` may lead to, and those
/// that describe its files, for each repository that `directory` may be in, by
/// its path alone: REPOSITORY/blobs, REPOSITORY/trees and CACHE/blobs. Some of
/// them may be missing.
std::vector<std::string> TreesBeside(std::string_view directory);

}  // namespace ctxfs
