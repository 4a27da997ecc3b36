// SPDX-License-Identifier: Apache-2.0
//
// ctxfs mounts: the ctxfs mounts that this process sees.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "core/base/human_size.h"
#include "fs/commands/command.h"
#include "fs/common/mount_stats.h"
#include "fs/common/mount_table.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Reads a file of a mount. Returns nothing if it cannot be read within two
/// seconds, because the daemon hangs; the thread that reads it then ends with
/// the process.
std::string ReadWithin(const std::string& path) {
  constexpr std::chrono::seconds kPatience(2);
  std::packaged_task<std::string()> read([path] {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  });
  std::future<std::string> text = read.get_future();
  std::thread(std::move(read)).detach();
  const bool answered = text.wait_for(kPatience) == std::future_status::ready;
  return answered ? text.get() : "";
}

/// Returns source, mount point, process, bytes of the cache in use, and its
/// limit; "-" for the last three if the mount does not answer, such as another
/// user's.
std::vector<std::string> Row(const MountEntry& mount, bool for_people) {
  std::vector<std::string> row = {ListedName(mount.source),
                                  ListedName(mount.point)};
  const MountStats stats =
      ParseMountStats(ReadWithin(mount.point + "/.ctxfs/stats"));
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

int RunMounts(const Arguments& /*arguments*/) {
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
    .max_operands = 0,
    .exit_codes = kPlainCodes};

}  // namespace ctxfs
