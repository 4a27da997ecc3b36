// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs mounts`: lists the ctxfs mounts visible to this process.
#include <cstdio>
#include <optional>
#include <string>

#include "core/base/json/json.h"
#include "core/base/text/human_size.h"
#include "core/base/text/printable.h"
#include "fs/commands/arguments.h"
#include "fs/commands/command.h"
#include "fs/common/mount_stats.h"
#include "fs/common/mount_table.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Returns source, mount point, process, cached bytes, and the cache's limit;
/// "-" for the last three if the mount does not answer, for example another
/// user's.
std::vector<std::string> Row(const MountEntry& mount, bool for_people) {
  std::vector<std::string> row = {ListedName(mount.source),
                                  ListedName(mount.point)};
  const MountStats stats = MountStats::Of(mount.point);
  const auto number = [](const std::optional<uint64_t>& value) {
    return value ? std::to_string(*value) : "-";
  };
  const auto size = [&](const std::optional<uint64_t>& value) {
    return value && for_people ? HumanSize(*value) : number(value);
  };
  row.insert(row.end(),
             {number(stats.Find("daemon_pid")), size(stats.Find("cache_bytes")),
              size(stats.Find("cache_limit_bytes"))});
  return row;
}

/// The row of a mount as JSON, with null for "-".
Json MountJson(const MountEntry& mount) {
  const MountStats stats = MountStats::Of(mount.point);
  const auto number = [&stats](std::string_view name) {
    const std::optional<uint64_t> value = stats.Find(name);
    return value ? Json(*value) : Json();
  };
  return {{"source", mount.source},
          {"mount_point", mount.point},
          {"pid", number("daemon_pid")},
          {"cache_size", number("cache_bytes")},
          {"cache_size_limit", number("cache_limit_bytes")}};
}

int PrintMountsJson() {
  Json mounts = Json::array();
  for (const MountEntry& mount : OwnMounts()) {
    mounts.push_back(MountJson(mount));
  }
  std::fputs(PrintableJson(FormatJson(mounts)).c_str(), stdout);
  return 0;
}

int RunMounts(const Arguments& arguments) {
  if (arguments.json) return PrintMountsJson();
  const Terminal terminal = Terminal::Of(stdout);
  TextTable table({"source", "mount point", "pid", "cache", "limit"},
                  {2, 3, 4});
  for (const MountEntry& mount : OwnMounts()) {
    table.Add(Row(mount, terminal.is_terminal()));
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
    .options = "J",
    .max_operands = 0,
    .exit_codes = kPlainCodes};

}  // namespace ctxfs
