// SPDX-License-Identifier: Apache-2.0
//
// ctxfs check, fsck.ctxfs: everything read, every checksum verified.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/tree/safe_name.h"
#include "core/vfs/sources.h"
#include "fs/commands/arguments.h"
#include "fs/commands/checker.h"
#include "fs/commands/commands.h"
#include "fs/commands/confine.h"
#include "fs/commands/find_containers.h"
#include "fs/commands/parallel.h"
#include "fs/commands/text.h"

namespace ctxfs {
namespace {

constexpr int kUnchecked = 2;

const Command kCommand{"check",
                       "[--json] [-j N] [--checksums=sha256] [--salvage] "
                       "[--keyfile PATH] SOURCE...",
                       "JjCSKI", 1, kUnchecked};

/// fsck(8) hands these to every checker; we only ever look.
bool IsForRepair(std::string_view argument) {
  constexpr std::string_view kIgnored[] = {"-a", "-p", "-n", "-y", "-f", "-V"};
  return std::find(std::begin(kIgnored), std::end(kIgnored), argument) !=
         std::end(kIgnored);
}

const char* CodeName(Code code) {
  switch (code) {
    case Code::kNotFound:
      return "missing";
    case Code::kNotContainer:
      return "no container";
    case Code::kVersion:
      return "version";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kChecksum:
      return "checksum";
    case Code::kLimit:
      return "limit";
    case Code::kIo:
      return "read failed";
    case Code::kStale:
      return "changed";
    case Code::kNoMemory:
      return "memory";
    case Code::kLocked:
      return "locked";
  }
  return "";
}

/// A line that sha256sum(1) reads: names with a backslash or line break are
/// escaped, and the line begins with a backslash.
std::string DigestLine(const std::string& path, const std::string& sha256) {
  std::string escaped;
  for (const char c : path) {
    switch (c) {
      case '\\':
        escaped += "\\\\";
        break;
      case '\n':
        escaped += "\\n";
        break;
      case '\r':
        escaped += "\\r";
        break;
      default:
        escaped += c;
    }
  }
  return (escaped == path ? "" : "\\") + sha256 + "  " + escaped;
}

const char* const kOutcomes[] = {"clean", "damaged", "unchecked"};

Json FaultJson(const Fault& fault) {
  Json json = {{"path", fault.path},
               {"entry", nullptr},
               {"offset", nullptr},
               {"kind", CodeName(fault.error.code)},
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
  const std::string source = ShownName(path);
  for (const Fault& fault : report.faults) {
    const std::string where =
        fault.path.empty() ? "" : Quote(fault.path) + ": ";
    std::fprintf(to, "%s: %s%s\n", source.c_str(), where.c_str(),
                 fault.error.Text().c_str());
  }
  for (const std::string& warning : report.warnings) {
    std::fprintf(to, "%s: warning: %s\n", source.c_str(), warning.c_str());
  }
  const std::string count = std::to_string(report.faults.size());
  std::fprintf(to, "%s: %llu files, %s: %s\n", source.c_str(),
               static_cast<unsigned long long>(report.files),
               HumanSize(report.bytes).c_str(),
               report.faults.empty()       ? "clean"
               : report.faults.size() == 1 ? "1 fault"
                                           : (count + " faults").c_str());
}

/// A container to check, and where a mount of what it was named by shows it.
struct Named {
  std::string path;
  std::string mounted;
  bool found;  // in a directory that was named
};

/// kUnchecked when some of the sources are not there; that was said.
int FindAll(const std::vector<std::string>& sources, std::vector<Named>* all) {
  int worst = 0;
  for (const std::string& source : sources) {
    const Result<std::vector<std::string>> paths = FindContainers(source);
    if (!paths) {
      PrintError(source, paths.error());
      worst = kUnchecked;
      continue;
    }
    if (paths->empty()) {
      PrintError(source, {Code::kNotContainer, "there is no container in it"});
      worst = kUnchecked;
    }
    for (const std::string& path : *paths) {
      std::string mounted = SafeComponent(BaseName(path));
      const bool found = path.size() > source.size();
      if (found) {
        mounted = path.substr(source.size());
        mounted.erase(0, mounted.find_first_not_of('/'));
      }
      all->push_back({path, std::move(mounted), found});
    }
  }
  return worst;
}

}  // namespace

int RunCheck(int argc, char** argv) {
  argc = static_cast<int>(std::remove_if(argv + 1, argv + argc, IsForRepair) -
                          argv);
  Arguments arguments;
  if (const auto code = ParseArguments(argc, argv, kCommand, &arguments)) {
    return *code;
  }
  ConfineToReading(arguments.operands);
  std::vector<Named> containers;
  int worst = FindAll(arguments.operands, &containers);

  // Many containers are checked side by side, a few one after the other.
  const bool many = containers.size() >= 2 * uint64_t{arguments.jobs};
  BlockCache cache(256 * limits::kMiB);
  Progress progress;
  const Checker checker({.open = arguments.open,
                         .jobs = many ? 1 : arguments.jobs,
                         .digests = arguments.sha256},
                        cache, progress);
  Mutex mutex;
  Json all = Json::array();
  std::FILE* const told = arguments.sha256 ? stderr : stdout;
  ForEachInParallel(
      containers.size(), many ? arguments.jobs : 1, [&](uint64_t i) {
        const auto& [path, mounted, found] = containers[i];
        const CheckReport report = checker.Check(path, /*alone=*/found);
        const MutexLock lock(mutex);
        progress.Clear();
        worst = std::max(worst, report.Outcome());
        if (arguments.json) {
          all.push_back(ReportJson(path, report));
          return;
        }
        PrintReport(told, path, report);
        for (const FileDigest& file : report.digests) {
          std::puts(DigestLine(mounted + "/" + file.path, file.sha256).c_str());
        }
      });
  if (arguments.json) {
    std::puts(all.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
  }
  return worst;
}

}  // namespace ctxfs
