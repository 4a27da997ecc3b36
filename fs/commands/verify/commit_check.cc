// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/commit_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/text.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

/// Returns the names of all files in the directory of a commit, with false for
/// links to missing blobs, else true; nullopt if there are too many or listing
/// fails. Omits huggingface_hub's own files, and follows no links to
/// directories.
std::optional<std::map<std::string, bool>> FilesIn(const std::string& folder) {
  std::map<std::string, bool> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end;
       !failed && at != end; at.increment(failed)) {
    if (files.size() == limits::kDirectoryNames) return std::nullopt;
    const std::string path = at->path().string();
    if (path == folder + "/.cache") at.disable_recursion_pending();
    std::error_code gone;
    if (!at->is_symlink(gone) && !at->is_regular_file(gone)) continue;
    files.emplace(path.substr(folder.size() + 1), fs::exists(at->path(), gone));
  }
  if (failed) return std::nullopt;
  return files;
}

/// Messages about files of one directory, and the names of the files.
struct NamedFiles {
  std::string one;   // "'a' HAS ...", without the name
  std::string many;  // "3 of 5 files HAVE ..."
  std::vector<std::string> names = {};

  void AddFaults(CheckReport& report) const {
    for (const std::string& name : names) {
      report.faults.push_back({name, std::nullopt, {Code::kNotFound, one}});
    }
  }

  void AddWarnings(bool each, size_t all, CheckReport& report) const {
    constexpr size_t kMaxNamed = 3;
    if (names.empty()) return;
    if (each || names.size() == 1) {
      for (const std::string& name : names) {
        report.warnings.push_back(Quote(name) + " " + one);
      }
      return;
    }
    std::string text =
        fmt::format("{} of {} files {}: ", names.size(), all, many);
    for (size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) {
      text += (i == 0 ? "" : ", ") + Quote(names[i]);
    }
    if (names.size() > kMaxNamed) {
      text += fmt::format(" and {} more: --all", names.size() - kMaxNamed);
    }
    report.warnings.push_back(std::move(text));
  }
};

}  // namespace

std::optional<Error> SizeFault(const CommitTrees& commits,
                               const std::string& path,
                               const std::string& top) {
  std::error_code failed;
  const uint64_t size = fs::file_size(path, failed);
  if (failed) return std::nullopt;
  const CommitTrees::FolderPtr commit = commits.Around(path, top);
  if (commit == nullptr) return std::nullopt;
  const CommitFile* const file = commit->Find(LocatedPath(path));
  if (file == nullptr || file->size == size) return std::nullopt;
  return Error{Code::kChecksum,
               fmt::format("{} bytes, expected {} as in {}", size, file->size,
                           Quote(commit->from))};
}

std::optional<CheckReport> CompareNames(const CommitTrees& commits,
                                        const std::string& folder, bool missing,
                                        bool each) {
  std::error_code failed;
  const CommitTrees::FolderPtr commit =
      commits.In(fs::canonical(folder, failed).string());
  if (commit == nullptr) return std::nullopt;
  const auto there = FilesIn(commit->folder);
  if (!there) return std::nullopt;
  NamedFiles absent{"was never downloaded",
                    "of the commit were never downloaded"};
  NamedFiles dangling{"has no blob", "of the commit have no blobs"};
  NamedFiles extra{"is not in the commit", "are not in the commit"};
  for (const auto& [path, file] : commit->files) {
    const auto found = there->find(path);
    if (found == there->end()) absent.names.push_back(path);
    if (found != there->end() && !found->second) dangling.names.push_back(path);
  }
  for (const auto& [path, has_bytes] : *there) {
    if (!commit->files.contains(path)) extra.names.push_back(path);
  }
  CheckReport report;
  for (const NamedFiles* const files : {&absent, &dangling}) {
    if (missing) {
      files->AddFaults(report);
    } else {
      files->AddWarnings(each, commit->files.size(), report);
    }
  }
  extra.AddWarnings(each, there->size(), report);
  if (report.faults.empty() && report.warnings.empty()) return std::nullopt;
  return report;
}

void AddOtherNames(const std::vector<ContainerSearch::OtherName>& names,
                   Json& reports) {
  std::map<std::string, std::vector<std::string>> others;  // by first name
  for (const auto& [path, first] : names) others[first].push_back(path);
  for (Json& report : reports) {
    const auto found = others.find(report["source"].get<std::string>());
    if (found == others.end() || !report.contains("digests")) continue;
    Json& digests = report["digests"];
    const auto own = std::ranges::find_if(digests, [&](const Json& digest) {
      return digest["file"] == found->first;
    });
    if (own == digests.end()) continue;
    Json same = *own;
    for (const std::string& name : found->second) {
      same["file"] = name;
      digests.push_back(same);
    }
  }
}

}  // namespace ctxfs
