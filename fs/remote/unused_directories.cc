// SPDX-License-Identifier: Apache-2.0
#include "fs/remote/unused_directories.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/io/fd.h"

namespace ctxfs {

std::vector<std::string> MissingDirectories(const std::string& directory) {
  std::vector<std::string> missing;
  if (!directory.starts_with('/')) return missing;
  for (size_t end = directory.find('/', 1);;
       end = directory.find('/', end + 1)) {
    const std::string part = directory.substr(0, end);
    struct stat st {};
    const bool exists = ::lstat(part.c_str(), &st) == 0;
    if (!exists && !part.ends_with('/')) missing.push_back(part);
    if (end == directory.npos) return missing;
  }
}

bool IsUntouched(int directory) {
  struct statx st {};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_MTIME | STATX_BTIME, &st) !=
      0) {
    return false;
  }
  if ((st.stx_mask & STATX_BTIME) == 0) return true;
  return st.stx_mtime.tv_sec == st.stx_btime.tv_sec &&
         st.stx_mtime.tv_nsec == st.stx_btime.tv_nsec;
}

void Touch(int directory) { (void)::futimens(directory, nullptr); }

void RemoveUnused(const std::vector<std::string>& made) {
  if (made.empty()) return;
  const Fd last(::open(made.back().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (last.ok() && !IsUntouched(last.get())) return;
  for (auto one = made.rbegin(); one != made.rend(); ++one) {
    // rmdir fails if the directory is not empty.
    if (::rmdir(one->c_str()) != 0 && errno != ENOENT) return;
  }
}

}  // namespace ctxfs
