// SPDX-License-Identifier: Apache-2.0
//
// ctxfs check and fsck.ctxfs: reads everything and verifies every checksum.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/tree/safe_name.h"
#include "core/vfs/sources.h"
#include "fs/commands/arguments.h"
#include "fs/commands/checker.h"
#include "fs/commands/confine.h"
#include "fs/commands/find_containers.h"
#include "fs/commands/text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// The findings that decide the exit code.
struct Findings {
  bool damaged = false;
  bool unchecked = false;  // something could not be read or opened

  void Add(const CheckReport& report) {
    for (const Fault& fault : report.faults) {
      (fault.IsDamage() ? damaged : unchecked) = true;
    }
  }
};

/// Exit codes: clean, damaged, not all checked, and both of these.
using Codes = std::array<int, 4>;

constexpr Codes kCheckCodes{0, 1, 2, 2};
// The codes of fsck(8), which are bits: 4 "filesystem errors left uncorrected",
// 8 "operational error", 16 "usage or syntax error". Its 1 means "corrected".
constexpr Codes kFsckCodes{0, 4, 8, 4 | 8};

/// fsck(8) passes these to every checker; a check that changes nothing ignores
/// them.
bool IsForRepair(std::string_view argument) {
  constexpr std::string_view kIgnored[] = {"-a", "-p", "-n", "-y", "-f", "-V"};
  return std::find(std::begin(kIgnored), std::end(kIgnored), argument) !=
         std::end(kIgnored);
}

/// Removes them from the arguments and returns how many are left. After "--"
/// every argument is a source.
int WithoutRepair(int argc, char** argv) {
  char** const last = std::find_if(argv + 1, argv + argc, [](const char* word) {
    return std::string_view(word) == "--";
  });
  char** const kept = std::remove_if(argv + 1, last, IsForRepair);
  return static_cast<int>(std::move(last, argv + argc, kept) - argv);
}

/// What each Code is called, in their order.
constexpr std::array kCodeNames = {
    "missing", "no container", "version", "corrupt", "checksum",
    "limit",   "read failed",  "changed", "memory",  "too many open files",
    "locked",  "interrupted"};
static_assert(kCodeNames.size() == static_cast<size_t>(Code::kInterrupted) + 1);

/// A line that sha256sum(1) reads: names with a backslash or line break are
/// escaped, and the line begins with a backslash.
std::string DigestLine(const std::string& path, const std::string& sha256) {
  const std::string escaped = Escaped(path, "\n\r");
  return (escaped == path ? "" : "\\") + sha256 + "  " + escaped;
}

const char* const kOutcomes[] = {"clean", "damaged", "unchecked"};

Json FaultJson(const Fault& fault) {
  Json json = {{"path", fault.path},
               {"entry", nullptr},
               {"offset", nullptr},
               {"kind", kCodeNames[static_cast<size_t>(fault.error.code)]},
               {"reason", fault.error.what}};
  if (fault.entry) {
    json["entry"] = *fault.entry;
    if (!IsUtf8(*fault.entry)) json["entry_hex"] = Hex(*fault.entry);
  }
  if (fault.error.offset != kNoOffset) json["offset"] = fault.error.offset;
  return json;
}

Json ReportJson(const std::string& path, const CheckReport& report) {
  Json json = {{"source", path},
               {"format", report.format},
               {"outcome", kOutcomes[report.Outcome()]},
               {"files", report.files},
               {"bytes", report.bytes},
               {"faults", Json::array()},
               {"warnings", report.warnings}};
  for (const Fault& fault : report.faults) {
    json["faults"].push_back(FaultJson(fault));
  }
  for (const FileDigest& file : report.digests) {
    json["sha256"][file.path] = file.sha256;
  }
  return json;
}

void PrintReport(std::FILE* to, const std::string& path,
                 const CheckReport& report) {
  const std::string source = ShownName(path, to);
  const Terminal terminal = Terminal::Of(to);
  for (const Fault& fault : report.faults) {
    const std::string where =
        fault.path.empty() ? "" : Quote(fault.path) + ": ";
    const std::string reason =
        terminal.Paint(Colour::kRed, ShownName(fault.error.Text(), to));
    std::fprintf(to, "%s: %s%s\n", source.c_str(), where.c_str(),
                 reason.c_str());
  }
  for (const std::string& warning : report.warnings) {
    std::fprintf(to, "%s: %s %s\n", source.c_str(),
                 terminal.Paint(Colour::kYellow, "warning:").c_str(),
                 ShownName(warning, to).c_str());
  }
  const size_t count = report.faults.size();
  const std::string verdict =
      count == 0 ? terminal.Paint(Colour::kGreen, "clean")
      : count == 1
          ? terminal.Paint(Colour::kRed, "1 fault")
          : terminal.Paint(Colour::kRed, std::to_string(count) + " faults");
  std::fprintf(to, "%s: %llu files, %s: %s\n", source.c_str(),
               static_cast<unsigned long long>(report.files),
               HumanSize(report.bytes).c_str(), verdict.c_str());
}

/// A container to check.
struct Named {
  std::string path;
  std::string mounted;  // its path in a mount of the source
  bool found;           // the source is a directory that it was found in
};

/// Returns the containers of all sources. Prints the sources that have none.
std::vector<Named> FindAll(const std::vector<std::string>& sources,
                           Findings* findings) {
  std::vector<Named> all;
  for (const std::string& source : sources) {
    const Result<std::vector<std::string>> paths = FindContainers(source);
    if (!paths) {
      PrintError(source, paths.error());
      findings->unchecked = true;
      continue;
    }
    for (const std::string& path : *paths) {
      std::string mounted = SafeComponent(BaseName(path));
      const bool found = path.size() > source.size();
      if (found) {
        mounted = path.substr(source.size());
        mounted.erase(0, mounted.find_first_not_of('/'));
      }
      all.push_back({path, std::move(mounted), found});
    }
  }
  return all;
}

/// Checks every source and prints the reports.
Findings CheckAll(const Arguments& arguments,
                  std::shared_ptr<SpillFile> spill_file) {
  Findings findings;
  const std::vector<Named> containers = FindAll(arguments.operands, &findings);

  // The threads check different containers, or the files of one container.
  const bool many = containers.size() >= 2 * uint64_t{arguments.jobs};
  BlockCache cache(256 * limits::kMiB);
  cache.SpillTo(std::move(spill_file));
  Progress progress;
  const Checker checker({.open = arguments.open,
                         .jobs = many ? 1 : arguments.jobs,
                         .digests = arguments.sha256},
                        cache, progress);
  Mutex mutex;
  Json all = Json::array();
  std::FILE* const reports = arguments.sha256 ? stderr : stdout;
  ForEachInParallel(
      containers.size(), many ? arguments.jobs : 1, [&](uint64_t i) {
        const auto& [path, mounted, found] = containers[i];
        const CheckReport report = checker.Check(path, /*alone=*/found);
        const MutexLock lock(mutex);
        progress.Clear();
        findings.Add(report);
        if (arguments.json) {
          all.push_back(ReportJson(path, report));
          return;
        }
        PrintReport(reports, path, report);
        for (const FileDigest& file : report.digests) {
          const std::string line =
              DigestLine(mounted + "/" + file.path, file.sha256);
          std::puts(ShownName(line).c_str());
        }
      });
  if (arguments.json) {
    std::fputs(FormatJson(all).c_str(), stdout);
  }
  return findings;
}

template <const Codes& kCodes>
int RunCheck(const Arguments& arguments) {
  std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
  ConfineToReading(arguments.operands);
  const Findings found = CheckAll(arguments, std::move(spill_file));
  return kCodes[(found.damaged ? 1U : 0U) + (found.unchecked ? 2U : 0U)];
}

}  // namespace

const Command kCheckCommand{
    .name = "check",
    .operands = "SOURCE...",
    .summary = "Reads everything and verifies every checksum",
    .run = &RunCheck<kCheckCodes>,
    .options = "jJCSKI",
    .examples =
        "  ctxfs check ~/models\n"
        "  ctxfs check --checksums=sha256 model.mosh > sums\n",
    .kind = OperandKind::kSource,
    .min_operands = 1,
    .usage_error = 2,
    .key_error = 2};

int RunFsck(int argc, char** argv) {
  Command command = kCheckCommand;
  command.program = "fsck.ctxfs";
  command.run = &RunCheck<kFsckCodes>;
  command.usage_error = 16;
  command.key_error = 8;
  return RunCommand(WithoutRepair(argc, argv), argv, command);
}

}  // namespace ctxfs
