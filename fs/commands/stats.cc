// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs stats`: shows how the reads of mounts were served.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

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

/// A column of the table: a counter of `.ctxfs/stats`.
struct Column {
  const char* title;
  const char* counter;
  bool bytes;
};

constexpr Column kColumns[] = {
    {"opens", "opens_total", false},
    {"passed through", "passthrough_opens_total", false},
    {"materialised", "materialized_opens_total", false},
    {"without reads", "opens_without_reads_total", false},
    {"reads", "reads_total", false},
    {"from memory", "read_memory_bytes_total", true},
    {"from cache_dir", "read_cache_dir_bytes_total", true},
    {"from containers", "read_container_bytes_total", true},
    {"decoded", "decoded_bytes_total", true},
    {"longest, ms", "request_longest_milliseconds", false}};

/// Returns the ctxfs mounts at `points`; all ctxfs mounts if `points` is empty.
/// If a point has no mount, prints an error and sets `failed`.
std::vector<MountEntry> Chosen(const std::vector<std::string>& points,
                               bool& failed) {
  const std::vector<MountEntry> mounts = OwnMounts();
  if (points.empty()) return mounts;
  std::vector<MountEntry> chosen;
  for (const std::string& point : points) {
    const std::string path = AsMountPoint(point);
    const auto found = std::find_if(
        mounts.begin(), mounts.end(),
        [&path](const MountEntry& mount) { return mount.point == path; });
    if (found != mounts.end()) {
      chosen.push_back(*found);
    } else {
      failed = true;
      PrintError(point, {Code::kNotFound, "not a mount of ctxfs"});
    }
  }
  return chosen;
}

std::string Cell(const MountStats& stats, const Column& column, bool human) {
  const std::optional<uint64_t> value = stats.Find(column.counter);
  if (!value) return "-";
  return column.bytes && human ? HumanSize(*value) : std::to_string(*value);
}

void PrintTable(const std::vector<MountEntry>& mounts) {
  const Terminal terminal = Terminal::Of(stdout);
  std::vector<std::string> header = {"mount point"};
  std::vector<size_t> numbers;
  for (const Column& column : kColumns) {
    numbers.push_back(header.size());
    header.emplace_back(column.title);
  }
  TextTable table(std::move(header), std::move(numbers));
  for (const MountEntry& mount : mounts) {
    const MountStats stats = MountStats::Of(mount.point);
    std::vector<std::string> row = {ListedName(mount.point)};
    for (const Column& column : kColumns) {
      row.push_back(Cell(stats, column, terminal.is_terminal()));
    }
    table.Add(std::move(row));
  }
  const std::string text =
      terminal.is_terminal() ? table.Aligned(terminal, "") : table.Separated();
  std::fputs(text.c_str(), stdout);
}

void PrintJson(const std::vector<MountEntry>& mounts) {
  Json all = Json::array();
  for (const MountEntry& mount : mounts) {
    Json one = {{"source", mount.source}, {"mount_point", mount.point}};
    one["counters"] = MountStats::Of(mount.point).samples();
    all.push_back(std::move(one));
  }
  std::fputs(PrintableJson(FormatJson(all)).c_str(), stdout);
}

int RunStats(const Arguments& arguments) {
  bool failed = false;
  const std::vector<MountEntry> mounts = Chosen(arguments.operands, failed);
  if (arguments.json) {
    PrintJson(mounts);
  } else {
    PrintTable(mounts);
  }
  return static_cast<int>(failed ? ExitCode::kMountPoint : ExitCode::kOk);
}

}  // namespace

const Command kStatsCommand{
    .name = "stats",
    .operands = "[MOUNTPOINT]...",
    .summary = "Shows where the reads of mounts were answered",
    .run = &RunStats,
    .options = "J",
    .examples = "  ctxfs stats /mnt/models\n",
    .kind = OperandKind::kMount,
    .exit_codes = "  0 ok, 1 usage, 6 not a mount of ctxfs\n"};

}  // namespace ctxfs
