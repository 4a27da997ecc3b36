// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/confine.h"

#include <utility>

#include "core/base/limits.h"
#include "core/io/urls/url.h"
#include "core/vfs/log.h"
#include "core/vfs/sources.h"
#include "fs/sandbox/sandbox.h"
#include "fs/sandbox/seccomp.h"

namespace ctxfs {

std::shared_ptr<SpillFile> OpenSpillFile() {
  Result<std::shared_ptr<SpillFile>> file =
      SpillFile::Make(SpillDirectory(), limits::kSpillBytes);
  return file ? std::move(*file) : nullptr;
}

void ConfineToReading(const std::vector<std::string>& paths, LeavingLinks links,
                      int written) {
  std::vector<std::string> trees;
  for (const std::string& path : paths) {
    if (IsUrl(path)) continue;  // the fetcher's process reads it
    if (links == LeavingLinks::kFollowed && IsPlainDirectory(path)) {
      trees.emplace_back("/");
      continue;
    }
    for (std::string& tree : TreesOf(path)) trees.push_back(std::move(tree));
  }
  const Result<int> sandbox = EnterSandbox(trees, written);
  if (!sandbox) {
    Log(LogLevel::kWarning, "sandbox is off: " + sandbox.error().Text());
  }
  const Result<bool> filter = FilterLeavingSyscalls();
  if (!filter) {
    Log(LogLevel::kWarning,
        "system call filter is off: " + filter.error().Text());
  }
}

}  // namespace ctxfs
