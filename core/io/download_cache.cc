// SPDX-License-Identifier: Apache-2.0
#include "core/io/download_cache.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "core/io/io_error.h"
#include "core/io/walk.h"

namespace ctxfs {
namespace {

constexpr std::string_view kUp = "../";
constexpr std::string_view kBlobs = "blobs/";
constexpr std::string_view kBlobsFolder = "/blobs";
constexpr std::string_view kSnapshots = "/snapshots";
constexpr size_t kSha1Digits = 40;
constexpr size_t kSha256Digits = 64;

/// The parent: "/a/b" of "/a/b/c"; empty if the parent is the root.
std::string_view Above(std::string_view path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

std::string_view LastName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // all of it without a slash
}

bool IsName(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         text.find('/') == std::string_view::npos;
}

bool IsDigits(std::string_view text, size_t count) {
  return text.size() == count &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The target of the link `name` in an open directory, or of `directory` itself
/// for an empty name; nullopt if it is no link.
std::optional<std::string> TextOfLink(int directory, const std::string& name) {
  char target[PATH_MAX];
  const ssize_t size =
      ::readlinkat(directory, name.c_str(), target, sizeof(target));
  if (size < 0) return std::nullopt;
  return std::string(target, static_cast<size_t>(size));
}

Error LeadsOut() { return {Code::kCorrupt, "leads out of the directory"}; }

Error NotInStore() {
  return {Code::kNotFound, "its blob is not in the store of the cache",
          kNoOffset, ENOENT};
}

/// Finds `path`, which is absolute, without following links; if the last
/// component is a link, returns the link itself. Fails with kNotFound if `path`
/// is missing, and with kCorrupt if it leads through a link.
Result<Fd> FindThere(const std::string& path) {
  Result<Fd> found = FindWithoutLinks(path);
  if (!found) {
    const int number = found.error().sys_errno;
    if (number == ELOOP || number == EXDEV) return LeadsOut();
    if (number == ENOENT || number == ENOTDIR) {
      return Error{Code::kNotFound, "there is no such file"};
    }
    return found;
  }
  if (found->real_path() != path) return LeadsOut();
  return found;
}

Result<bool> IsLink(const Fd& fd) {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return IoError("cannot be examined");
  return S_ISLNK(st.st_mode);
}

/// "/c/m" of "/c/m/snapshots" and of "/c/models--m"; empty for another path.
std::string_view RepositoryAt(std::string_view path) {
  if (path.ends_with(kSnapshots)) return Above(path);
  return IsRepositoryFolder(LastName(path)) ? path : std::string_view();
}

}  // namespace

bool IsRepositoryFolder(std::string_view name) {
  return std::ranges::any_of(kRepositoryTypes, [name](std::string_view type) {
    return name.starts_with(type) &&
           name.substr(type.size()).starts_with(kRepositorySeparator) &&
           name.size() > type.size() + kRepositorySeparator.size();
  });
}

bool IsCommit(std::string_view text) { return IsDigits(text, kSha1Digits); }

std::optional<std::string> BlobOf(std::string_view directory,
                                  std::string_view target) {
  std::string_view repository = directory;
  while (target.starts_with(kUp)) {
    target.remove_prefix(kUp.size());
    repository = Above(repository);
  }
  if (!target.starts_with(kBlobs)) return std::nullopt;
  const std::string_view name = target.substr(kBlobs.size());
  // `below` must be "/snapshots/REVISION", or longer for a link in a
  // subdirectory.
  std::string_view below = directory.substr(repository.size());
  if (repository.empty() || !IsName(name) || !below.starts_with(kSnapshots)) {
    return std::nullopt;
  }
  below.remove_prefix(kSnapshots.size());
  if (below.size() < 2 || below.front() != '/') return std::nullopt;
  return std::string(repository) + "/" + std::string(kBlobs) +
         std::string(name);
}

std::optional<std::string> BlobOfLink(const Fd& directory,
                                      const std::string& name) {
  const std::optional<std::string> target = TextOfLink(directory.get(), name);
  if (!target) return std::nullopt;
  return BlobOf(directory.real_path(), *target);
}

std::optional<std::string> StoreEntryOf(std::string_view blob,
                                        std::string_view target) {
  constexpr std::string_view kToStore = "../../blobs/";
  const std::string_view etag = LastName(blob);
  const std::string_view blobs = Above(blob);
  const std::string_view repository = Above(blobs);
  const bool lawful =
      (IsDigits(etag, kSha1Digits) || IsDigits(etag, kSha256Digits)) &&
      blobs.ends_with(kBlobsFolder) &&
      IsRepositoryFolder(LastName(repository)) && target.starts_with(kToStore);
  if (!lawful) return std::nullopt;
  const std::string_view entry = target.substr(kToStore.size());
  const std::string_view folder = entry.substr(0, 2);
  const bool named = IsDigits(folder, 2) && entry.size() > 3 &&
                     entry[2] == '/' &&
                     IsDigits(entry.substr(3), kSha256Digits) &&
                     entry.substr(3).starts_with(folder);
  if (!named) return std::nullopt;
  return std::string(Above(repository)) + "/" + std::string(kBlobs) +
         std::string(entry);
}

std::optional<std::string> StoredAt(const std::string& blob) {
  const std::optional<std::string> target = TextOfLink(AT_FDCWD, blob);
  return target ? StoreEntryOf(blob, *target) : blob;
}

Result<Fd> FindBlob(const std::string& blob) {
  Fd found = CTXFS_TRY(FindThere(blob));
  if (!CTXFS_TRY(IsLink(found))) return found;
  const std::optional<std::string> target = TextOfLink(found.get(), "");
  const std::optional<std::string> entry =
      target ? StoreEntryOf(blob, *target) : std::nullopt;
  if (!entry) return LeadsOut();
  Result<Fd> stored = FindThere(*entry);
  if (!stored && stored.error().code == Code::kNotFound) return NotInStore();
  if (stored && CTXFS_TRY(IsLink(*stored))) return LeadsOut();
  return stored;
}

std::optional<Error> MissingFromStore(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path given = std::filesystem::absolute(path, failed);
  if (failed) return std::nullopt;
  const Result<Fd> directory = FindPath(given.parent_path(), O_DIRECTORY);
  if (!directory) return std::nullopt;
  const auto blob = BlobOfLink(*directory, given.filename());
  const auto entry = blob ? StoredAt(*blob) : std::nullopt;
  if (!entry || *entry == *blob) return std::nullopt;
  const Result<Fd> found = FindBlob(*blob);
  if (found || found.error().code != Code::kNotFound) return std::nullopt;
  return found.error();
}

std::string WhyMissing(const Error& error) {
  const bool stored = error.what == NotInStore().what;
  return stored ? "is missing: " + error.what : "is missing";
}

std::vector<std::string> TreesBeside(std::string_view directory) {
  std::vector<std::string> all;
  for (; !directory.empty(); directory = Above(directory)) {
    const std::string_view repository = RepositoryAt(directory);
    if (repository.empty()) continue;
    all.push_back(std::string(repository) + std::string(kBlobsFolder));
    all.push_back(std::string(repository) + "/trees");
    if (IsRepositoryFolder(LastName(repository))) {
      all.push_back(std::string(Above(repository)) + std::string(kBlobsFolder));
    }
    directory = repository;
  }
  return all;
}

}  // namespace ctxfs
