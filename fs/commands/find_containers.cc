// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/find_containers.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "core/io/io_error.h"
#include "core/vfs/container_detector.h"
#include "core/vfs/sources.h"

namespace ctxfs {
namespace {

bool IsContainerAt(ContainerDetector& detector, const std::string& path,
                   const struct stat& st) {
  const Result<Kind> kind =
      detector.Of(path, FileIdentity::Of(st), S_ISDIR(st.st_mode));
  return kind && *kind == Kind::kContainer;
}

}  // namespace

Result<std::vector<std::string>> FindContainers(const std::string& path) {
  namespace fs = std::filesystem;
  struct stat top {};
  if (::stat(path.c_str(), &top) != 0) return IoError("cannot be opened");
  if (!IsPlainDirectory(path)) return std::vector<std::string>{path};
  ContainerDetector detector;
  std::vector<std::string> containers;
  std::error_code failed;
  fs::recursive_directory_iterator at(
      path, fs::directory_options::skip_permission_denied, failed);
  while (!failed && at != fs::end(at)) {
    const std::string file = at->path().string();
    struct stat st {};
    const bool known = ::lstat(file.c_str(), &st) == 0;
    const bool directory = known && S_ISDIR(st.st_mode);
    if (known && (directory || S_ISREG(st.st_mode)) &&
        IsContainerAt(detector, file, st)) {
      containers.push_back(file);
      if (directory) at.disable_recursion_pending();
    }
    at.increment(failed);
  }
  if (failed) return Error{Code::kIo, failed.message()};
  if (containers.empty()) {
    return Error{Code::kNotContainer, "there is no container in it"};
  }
  std::sort(containers.begin(), containers.end());
  return containers;
}

}  // namespace ctxfs
