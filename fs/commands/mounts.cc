// SPDX-License-Identifier: Apache-2.0
//
// ctxfs mounts: the ctxfs mounts that this process sees.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "fs/commands/arguments.h"
#include "fs/commands/text.h"
#include "fs/common/mount_stats.h"
#include "fs/common/mount_table.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// The result of a thread that may block for ever, because the daemon hangs.
struct Answer {
  std::mutex mutex;
  std::condition_variable arrived;
  bool done = false;
  std::string text;
};

/// Reads a file of a mount. Returns nullopt if it cannot be read within two
/// seconds; the thread that reads it then ends with the process.
std::optional<std::string> ReadWithin(const std::string& path) {
  constexpr std::chrono::seconds kPatience(2);
  const auto answer = std::make_shared<Answer>();
  std::thread([answer, path] {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const std::lock_guard lock(answer->mutex);
    answer->text = text.str();
    answer->done = true;
    answer->arrived.notify_one();
  }).detach();
  std::unique_lock lock(answer->mutex);
  if (!answer->arrived.wait_for(lock, kPatience,
                                [&answer] { return answer->done; }) ||
      answer->text.empty()) {
    return std::nullopt;
  }
  return std::move(answer->text);
}

/// Returns source, mount point, process, bytes of the cache in use, and its
/// limit; "-" for the last three if the mount does not answer, such as another
/// user's.
std::vector<std::string> Row(const MountEntry& mount, bool for_people) {
  std::vector<std::string> row = {ShownName(mount.source),
                                  ShownName(mount.point)};
  const std::optional<std::string> text =
      ReadWithin(mount.point + "/.ctxfs/stats");
  const MountStats stats = text ? ParseMountStats(*text) : MountStats{};
  const auto number = [](const std::optional<uint64_t>& value) {
    return value ? std::to_string(*value) : "-";
  };
  const auto size = [&](const std::optional<uint64_t>& value) {
    return value && for_people ? HumanSize(*value) : number(value);
  };
  row.insert(row.end(), {number(stats.pid), size(stats.cache_bytes),
                         size(stats.cache_limit)});
  return row;
}

int RunMounts(int argc, char** argv) {
  Arguments arguments;
  if (const auto code =
          ParseArguments(argc, argv, kMountsCommand, &arguments)) {
    return *code;
  }
  const Terminal terminal = Terminal::Of(stdout);
  TextTable table({"source", "mount point", "pid", "cache", "limit"},
                  {2, 3, 4});
  for (const MountEntry& mount : MountTable()) {
    if (mount.type == kMountType) {
      table.Add(Row(mount, terminal.is_terminal()));
    }
  }
  if (!terminal.is_terminal()) {
    std::fputs(table.Separated().c_str(), stdout);
  } else if (table.empty()) {
    std::puts("nothing is mounted; mount with 'ctxfs mount SOURCE'");
  } else {
    std::fputs(table.Aligned(terminal, "").c_str(), stdout);
  }
  return 0;
}

}  // namespace

const Command kMountsCommand{
    .name = "mounts",
    .operands = "",
    .summary = "Lists mounts: source, mount point, process and cache in use",
    .run = &RunMounts,
    .max_operands = 0};

}  // namespace ctxfs
