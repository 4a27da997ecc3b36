// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/commit_trees.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "core/base/text/text.h"
#include "core/io/directory.h"
#include "core/io/download_cache.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSnapshotsFolder = "/snapshots/";
constexpr std::string_view kLocalCache = "/.cache/huggingface";
constexpr std::string_view kTextEnding = ".json";
constexpr size_t kMaxCommitsKept = 16;
/// Maximum number of names read in a directory of huggingface_hub.
constexpr size_t kMaxHubNames = 10'000;
/// Maximum size in bytes of the metadata of one download.
constexpr uint64_t kMaxMetadataBytes = 4096;

/// Reads the file at `path`; nullopt if it cannot be read, is not regular or
/// has more than `most` bytes.
std::optional<std::string> ReadSmall(const std::string& path, uint64_t most) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return std::nullopt;
  const Result<SourcePtr> source = OpenSource(path);
  if (!source || (*source)->size() > most) return std::nullopt;
  const Result<Buffer> bytes =
      ReadBuffer(**source, 0, (*source)->size(), "the text", Request());
  if (!bytes) return std::nullopt;
  return std::string(AsText(bytes->span()));
}

/// The first line of FILE.metadata: the file's commit.
std::optional<std::string> CommitIn(const std::string& metadata) {
  const auto text = ReadSmall(metadata, kMaxMetadataBytes);
  if (!text) return std::nullopt;
  std::string commit = text->substr(0, text->find_first_of("\r\n"));
  if (!IsCommit(commit)) return std::nullopt;
  return commit;
}

/// Whether the directory is snapshots/COMMIT of a repository.
bool IsSnapshot(std::string_view folder) {
  const size_t at = folder.rfind('/');
  return at != std::string_view::npos && IsCommit(folder.substr(at + 1)) &&
         folder.substr(0, at + 1).ends_with(kSnapshotsFolder);
}

std::string TextOfSnapshot(const std::string& folder) {
  const size_t at = folder.rfind(kSnapshotsFolder);
  return folder.substr(0, at) + "/trees/" +
         folder.substr(at + kSnapshotsFolder.size()) + std::string(kTextEnding);
}

/// The commits listed in `trees`; none if there are too many names.
std::set<std::string> CommitsIn(const std::string& trees) {
  std::set<std::string> commits;
  size_t names = 0;
  std::error_code failed;
  for (fs::directory_iterator at(trees, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (++names > kMaxHubNames) return {};
    const fs::path name = at->path().filename();
    if (name.extension() == kTextEnding && IsCommit(name.stem().string())) {
      commits.insert(name.stem().string());
    }
  }
  return commits;
}

/// The commit in all metadata of a download; nullopt if they differ.
std::optional<std::string> CommitOfAll(const std::string& metadata) {
  std::optional<std::string> commit;
  size_t names = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(metadata, failed), end;
       !failed && at != end; at.increment(failed)) {
    if (++names > kMaxHubNames) return std::nullopt;
    if (at->path().extension() != ".metadata") continue;
    const auto own = CommitIn(at->path().string());
    if (!own || (commit && commit != own)) return std::nullopt;
    commit = own;
  }
  return commit;
}

/// The path of the list for a local directory; empty: none. `own` is the commit
/// in the metadata of the file in question.
std::string TextOfLocal(const std::string& folder,
                        const std::optional<std::string>& own) {
  const std::string cache = folder + std::string(kLocalCache);
  const std::set<std::string> commits = CommitsIn(cache + "/trees");
  if (commits.empty()) return {};
  std::optional<std::string> commit = own;
  if (!commit && commits.size() == 1) commit = *commits.begin();
  if (!commit) commit = CommitOfAll(cache + "/download");
  if (!commit || !commits.contains(*commit)) return {};
  return cache + "/trees/" + *commit + std::string(kTextEnding);
}

}  // namespace

const CommitFile* CommitFolder::Find(std::string_view path) const {
  if (!path.starts_with(folder)) return nullptr;
  path.remove_prefix(folder.size());
  if (!path.starts_with('/')) return nullptr;
  const auto found = files.find(path.substr(1));
  return found == files.end() ? nullptr : &found->second;
}

std::string LocatedPath(const std::string& path) {
  std::error_code failed;
  const fs::path name = fs::path(path).filename();
  const fs::path folder =
      fs::canonical(fs::absolute(path, failed).parent_path(), failed);
  return failed ? path : (folder / name).string();
}

std::vector<std::string> FoldersUpTo(const std::string& located,
                                     const std::string& top) {
  std::vector<std::string> folders;
  std::error_code failed;
  const std::string last = fs::canonical(top, failed).string();
  fs::path folder = fs::path(located).parent_path();
  while (true) {
    folders.push_back(folder.string());
    const bool below = folders.back().starts_with(last + "/");
    if (!below || folder == folder.root_path()) return folders;
    folder = folder.parent_path();
  }
}

CommitTrees::FolderPtr CommitTrees::In(const std::string& folder) const {
  if (IsSnapshot(folder)) return Read(TextOfSnapshot(folder), folder);
  return Read(TextOfLocal(folder, std::nullopt), folder);
}

CommitTrees::FolderPtr CommitTrees::For(const std::string& path,
                                        const std::string& folder) const {
  if (IsSnapshot(folder)) return In(folder);
  const std::string metadata = folder + std::string(kLocalCache) + "/download" +
                               path.substr(folder.size()) + ".metadata";
  return Read(TextOfLocal(folder, CommitIn(metadata)), folder);
}

CommitTrees::FolderPtr CommitTrees::OfSnapshot(const std::string& path) const {
  for (fs::path folder = fs::path(path).parent_path();
       folder.has_relative_path(); folder = folder.parent_path()) {
    if (IsSnapshot(folder.string())) return In(folder.string());
  }
  return nullptr;
}

CommitTrees::FolderPtr CommitTrees::Around(const std::string& path,
                                           const std::string& top) const {
  const std::string located = LocatedPath(path);
  for (const std::string& folder : FoldersUpTo(located, top)) {
    FolderPtr commit = For(located, folder);
    if (commit != nullptr && commit->Find(located) != nullptr) return commit;
  }
  FolderPtr commit = OfSnapshot(located);
  const bool has = commit != nullptr && commit->Find(located) != nullptr;
  return has ? commit : nullptr;
}

CommitTrees::FolderPtr CommitTrees::Read(const std::string& from,
                                         const std::string& folder) const {
  if (from.empty()) return nullptr;
  {
    const MutexLock lock(mutex_);
    const auto known = known_.find(from);
    if (known != known_.end()) return known->second;
  }
  FolderPtr read;
  if (const auto text = ReadSmall(from, kMaxCommitTreeBytes)) {
    if (Result<CommitTree> files = ParseCommitTree(*text)) {
      read = std::make_shared<const CommitFolder>(
          CommitFolder{from, folder, *std::move(files)});
    }
  }
  const MutexLock lock(mutex_);
  if (known_.size() >= kMaxCommitsKept) known_.clear();
  known_.emplace(from, read);
  return read;
}

}  // namespace ctxfs
