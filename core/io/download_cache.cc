// SPDX-License-Identifier: Apache-2.0
#include "core/io/download_cache.h"

#include <limits.h>
#include <unistd.h>

#include <cstddef>

namespace ctxfs {
namespace {

constexpr std::string_view kUp = "../";
constexpr std::string_view kBlobs = "blobs/";
constexpr std::string_view kSnapshots = "/snapshots";

/// "/a/b" of "/a/b/c"; empty at the root.
std::string_view Above(std::string_view directory) {
  const size_t slash = directory.rfind('/');
  return directory.substr(0, slash == std::string_view::npos ? 0 : slash);
}

bool IsName(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         text.find('/') == std::string_view::npos;
}

}  // namespace

std::optional<std::string> BlobOf(std::string_view directory,
                                  std::string_view target) {
  std::string_view repository = directory;
  while (target.starts_with(kUp)) {
    target.remove_prefix(kUp.size());
    repository = Above(repository);
  }
  if (!target.starts_with(kBlobs)) return std::nullopt;
  const std::string_view name = target.substr(kBlobs.size());
  // "/snapshots/REVISION", and more if the link is further down.
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
  char target[PATH_MAX];
  const ssize_t size =
      ::readlinkat(directory.get(), name.c_str(), target, sizeof(target));
  if (size < 0) return std::nullopt;
  return BlobOf(directory.real_path(),
                std::string_view(target, static_cast<size_t>(size)));
}

std::vector<std::string> BlobsBeside(std::string_view directory) {
  std::vector<std::string> all;
  for (; !directory.empty(); directory = Above(directory)) {
    if (!directory.ends_with(kSnapshots)) continue;
    const std::string_view repository = Above(directory);
    if (!repository.empty()) all.push_back(std::string(repository) + "/blobs");
  }
  return all;
}

}  // namespace ctxfs
