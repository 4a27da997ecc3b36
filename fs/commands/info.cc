// SPDX-License-Identifier: Apache-2.0
//
// ctxfs info: what a container is, what is in it, and what is wrong with it.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/vfs/open_container.h"
#include "fs/commands/arguments.h"
#include "fs/commands/commands.h"
#include "fs/commands/confine.h"
#include "fs/commands/find_containers.h"
#include "fs/commands/text.h"

namespace ctxfs {
namespace {

const Command kCommand{
    "ctxfs info",
    "[--json] [--salvage] [--keyfile PATH] [--insecure-keyfile] SOURCE...",
    "JSKI", 1};

/// Entries that are alike, as the table counts them.
struct Group {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t stored = 0;
};

using Row = std::vector<std::string>;

void PrintTable(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const Row& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      // Words to the left, numbers to the right.
      line += i < 3 ? " " + row[i] + space : "  " + space + row[i];
    }
    std::puts(line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }
}

void PrintGroups(const Container& container) {
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  const auto entries = container.Entries();
  for (uint32_t entry = 0; entry < entries->count(); ++entry) {
    const EntryInfo info =
        entries->Describe(entry, LoneContext()).value_or(EntryInfo{});
    Group& group = groups[{info.kind, info.dtype, info.codec}];
    ++group.entries;
    group.bytes += info.size;
    group.stored += info.stored_size;
  }
  if (groups.empty()) return;
  std::vector<Row> rows = {
      {"kind", "dtype", "codec", "entries", "decoded", "stored"}};
  for (const auto& [key, group] : groups) {
    const auto& [kind, dtype, codec] = key;
    rows.push_back({kind, dtype.empty() ? "-" : dtype, codec,
                    std::to_string(group.entries), HumanSize(group.bytes),
                    HumanSize(group.stored)});
  }
  std::puts("");
  PrintTable(rows);
}

/// "  key  value" of what info.json says on its own; lists by their length.
void PrintFields(const Json& info) {
  for (const auto& [key, value] : info.items()) {
    if (key == "warnings") continue;
    std::string text = value.is_string() ? value.get<std::string>()
                       : value.is_array()
                           ? std::to_string(value.size()) + " listed"
                           : CompactJson(value);
    if (key.ends_with("_size") && value.is_number_unsigned()) {
      text += " (" + HumanSize(value.get<uint64_t>()) + ")";
    }
    std::printf("  %-22s %s\n", key.c_str(), ShownName(text).c_str());
  }
}

ExitCode ShowOne(const std::string& path, const Arguments& arguments,
                 Json* all) {
  const Result<std::shared_ptr<const Container>> container =
      OpenContainerFile(path, arguments.open);
  if (!container) {
    PrintError(path, container.error());
    return ExitCodeOf(container.error());
  }
  Json info = (*container)->Info(LoneContext());
  if (arguments.json) {
    info["path"] = path;
    all->push_back(std::move(info));
    return ExitCode::kOk;
  }
  std::printf("%s\n", ShownName(path).c_str());
  PrintFields(info);
  PrintGroups(**container);
  for (const Json& warning : info.value("warnings", Json::array())) {
    std::printf("  warning: %s\n",
                ShownName(warning.get<std::string>()).c_str());
  }
  return ExitCode::kOk;
}

}  // namespace

int RunInfo(int argc, char** argv) {
  Arguments arguments;
  if (const auto code = ParseArguments(argc, argv, kCommand, &arguments)) {
    return *code;
  }
  ConfineToReading(arguments.operands);
  ExitCode worst = ExitCode::kOk;
  Json all = Json::array();
  for (const std::string& operand : arguments.operands) {
    const Result<std::vector<std::string>> paths = FindContainers(operand);
    if (!paths) {
      PrintError(operand, paths.error());
      worst = ExitCode::kSource;
      continue;
    }
    for (const std::string& path : *paths) {
      const ExitCode code = ShowOne(path, arguments, &all);
      if (code != ExitCode::kOk) worst = code;
    }
  }
  if (arguments.json) {
    std::puts(all.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
  }
  return static_cast<int>(worst);
}

}  // namespace ctxfs
