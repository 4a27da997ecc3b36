// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/confine.h"

#include <filesystem>
#include <utility>

#include "core/base/limits.h"
#include "core/vfs/log.h"
#include "core/vfs/sources.h"
#include "fs/sandbox/sandbox.h"

namespace ctxfs {
namespace {

/// Returns the directory in which a container at `path` may name other files.
std::string TreeOf(const std::string& path) {
  namespace fs = std::filesystem;
  // Links in a plain directory may lead anywhere.
  if (IsPlainDirectory(path)) return "/";
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed) return {};  // opening it reports the error
  return fs::is_directory(real, failed) ? real : real.parent_path();
}

}  // namespace

std::shared_ptr<SpillFile> OpenSpillFile() {
  Result<std::shared_ptr<SpillFile>> file =
      SpillFile::Make(SpillDirectory(), limits::kSpillBytes);
  return file ? std::move(*file) : nullptr;
}

void ConfineToReading(const std::vector<std::string>& paths) {
  std::vector<std::string> trees;
  for (const std::string& path : paths) {
    if (std::string tree = TreeOf(path); !tree.empty()) {
      trees.push_back(std::move(tree));
    }
  }
  const Result<int> sandbox = EnterSandbox(trees);
  if (!sandbox) {
    Log(LogLevel::kWarning, "sandbox is off: " + sandbox.error().Text());
  }
}

}  // namespace ctxfs
