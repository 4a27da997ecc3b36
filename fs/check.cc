// SPDX-License-Identifier: Apache-2.0
#include "fs/check.h"

#include <algorithm>
#include <cstdio>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/content/block_cache.h"
#include "fs/exit_code.h"
#include "fs/open_container.h"

namespace ctxfs {
namespace {

enum Outcome { kClean = 0, kFaults = 1, kUnchecked = 2 };

void Print(const std::string& path, const std::string& line) {
  std::printf("%s: %s\n", path.c_str(), line.c_str());
}

/// Reads an entry through and through: Verify alone would not touch what no
/// checksum covers.
Status ReadEntry(const Container& container, uint32_t entry,
                 BlockCache& cache) {
  Result<Content> content = container.OpenEntry(entry);
  if (!content) return std::move(content).error();
  if (Status verified = content->Verify(cache); !verified) return verified;
  Window window;
  for (uint64_t at = 0; at < content->size(); at += limits::kMiB) {
    Status read = content->Read(at, limits::kMiB, cache, window);
    if (!read) return read;
  }
  return {};
}

Outcome CheckOne(const std::string& path) {
  OpenOptions options;
  Result<std::shared_ptr<const Container>> opened =
      OpenContainerFile(path, options);
  if (!opened) {
    Print(path, opened.error().Text());
    return ExitCodeOf(opened.error()) == ExitCode::kDamaged ? kFaults
                                                            : kUnchecked;
  }
  const Container& container = **opened;
  BlockCache cache(limits::kMiB);
  uint64_t faults = 0;
  for (uint32_t entry = 0; entry < container.entry_count(); ++entry) {
    if (container.EntryLocked(entry)) continue;  // no key is asked for here
    const Status read = ReadEntry(container, entry, cache);
    if (read) continue;
    ++faults;
    Print(path, "entry " + std::to_string(entry) + " " +
                    Quote(container.EntryName(entry).value_or("")) + ": " +
                    read.error().Text());
  }
  Print(path, std::to_string(container.entry_count()) + " entries, " +
                  std::to_string(faults) + " faults");
  return faults == 0 ? kClean : kFaults;
}

}  // namespace

int RunCheck(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    // fsck(8) hands these to every checker; we only ever look.
    if (argument == "-a" || argument == "-p" || argument == "-n" ||
        argument == "-y" || argument == "-f" || argument == "-V") {
      continue;
    }
    paths.push_back(argument);
  }
  if (paths.empty()) {
    std::fprintf(stderr, "usage: ctxfs check CONTAINER...\n");
    return kUnchecked;
  }
  Outcome worst = kClean;
  for (const std::string& path : paths) worst = std::max(worst, CheckOne(path));
  return worst;
}

}  // namespace ctxfs
