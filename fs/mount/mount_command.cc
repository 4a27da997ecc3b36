// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs mount`. A build without FUSE has no_mount_command.cc instead.
#include "fs/mount/mount_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text/text.h"
#include "core/io/urls/url.h"
#include "core/version.h"
#include "core/vfs/sources.h"
#include "fs/common/operand_mistake.h"
#include "fs/common/shown_text.h"
#include "fs/fuse/session.h"
#include "fs/kernel/notify.h"
#include "fs/log/sinks.h"
#include "fs/mount/daemon.h"
#include "fs/mount/inherited.h"
#include "fs/mount/mount_point.h"
#include "fs/mount/options.h"

namespace ctxfs {
namespace {

bool AnyPlainDirectory(const std::vector<std::string>& sources) {
  return std::any_of(
      sources.begin(), sources.end(),
      [](const std::string& source) { return IsPlainDirectory(source); });
}

/// Returns a hint for a person at a terminal: "'model.mcf' is mounted at 'mnt';
/// ...".
std::string MountedLine(const MountOptions& options) {
  std::string line = Quote(WithoutQuery(options.sources.front()));
  const size_t more = options.sources.size() - 1;
  line += more == 0 ? " is" : fmt::format(" and {} more are", more);
  line += " mounted at " + Quote(options.mount_point);
  if (options.list == ListMode::kPrimary) {
    line += "; views/ and .ctxfs/ are unlisted there (-o list=all lists them)";
  } else if (options.list == ListMode::kViews) {
    line += "; .ctxfs/ is unlisted there (-o list=all lists it)";
  }
  // Safetensors, GGUF, zip and others stay files (docs/tree.md, section 2).
  if (options.list != ListMode::kAll && AnyPlainDirectory(options.sources)) {
    line += "; a container that stays a file is also the directory NAME~dir";
  }
  return line + "; unmount it with 'umount " + ShownName(options.mount_point) +
         "'";
}

/// Prints the hint on a terminal; for a script, prints the mount point if this
/// command made it.
void PrintMounted(const MountOptions& options, bool made) {
  const bool shown = ::isatty(STDOUT_FILENO) == 1;
  if (made && !shown) std::puts(options.mount_point.c_str());
  if (!shown && ::isatty(STDERR_FILENO) != 1) return;
  std::fprintf(shown ? stdout : stderr, "%s\n",
               ShownText(MountedLine(options)).c_str());
}

int Mount(MountOptions options, const InheritedDescriptors& inherited) {
  const bool made = options.mount_point.empty();
  if (made) {
    Result<std::string> point =
        NewMountPoint(WithoutQuery(options.sources.front()));
    if (!point) {
      return static_cast<int>(
          EndWith(ExitCode::kMountPoint, point.error().Text()));
    }
    options.mount_point = std::move(*point);
  }
  SetLogLevel(options.log);
  const auto serve = [&](const std::function<void()>& ready) {
    return Serve(options, [&] {
      inherited.Close();
      ready();
    });
  };
  if (options.foreground) {
    SetLogSink(DroppingStderrSink());
    const std::string status =
        "serving " + Quote(WithoutQuery(options.sources.front()));
    return static_cast<int>(serve([&] {
      PrintMounted(options, made);
      std::fflush(stdout);
      NotifyReady(status);
    }));
  }
  const ExitCode code = RunInBackground(serve);
  if (code == ExitCode::kOk) PrintMounted(options, made);
  return static_cast<int>(code);
}

/// Runs `ctxfs mount` and mount.ctxfs. `by_word`: the command line is `ctxfs
/// SOURCE MOUNTPOINT`, where a single word may be a mistyped command.
int RunMountAs(int argc, char** argv, bool by_word) {
  const InheritedDescriptors inherited = InheritedDescriptors::Find();
  MountOptions options;
  std::string error;
  if (!ParseMountOptions(argc, argv, &options, &error)) {
    std::fprintf(stderr, "ctxfs: %s; try 'ctxfs mount --help'\n",
                 ShownText(error).c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  if (options.help) {
    std::fputs(MountUsage().c_str(), stdout);
    return 0;
  }
  if (options.version) {
    std::puts(VersionLine().c_str());
    return 0;
  }
  if (by_word && options.mount_point.empty()) {
    const std::string source = Quote(options.sources.front());
    std::fprintf(stderr,
                 "ctxfs: %s is not a command; mount it with 'ctxfs mount', or "
                 "describe it with 'ctxfs info'\n",
                 ShownText(source).c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  for (const std::string& source : options.sources) {
    const std::string mistake = OperandMistake(source, /*with_path=*/false);
    if (mistake.empty()) continue;
    return static_cast<int>(EndWith(ExitCode::kSource, mistake));
  }
  return Mount(std::move(options), inherited);
}

int RunMount(int argc, char** argv) {
  return RunMountAs(argc, argv, /*by_word=*/false);
}

}  // namespace

const Command kMountCommand{.name = "mount",
                            .operands = "SOURCE... [MOUNTPOINT]",
                            .summary = "Shows containers as files",
                            .run_words = &RunMount,
                            .kind = OperandKind::kSource};

int RunMountByWord(int argc, char** argv) {
  return RunMountAs(argc, argv, /*by_word=*/true);
}

std::string VersionLine() { return std::string("ctxfs ") + kVersion; }

CompletionTables CompletionTablesOf(std::span<const Command* const> commands) {
  return {commands,
          MountFlags(),
          MountOptionNames(),
          {"read", "open", "off"},
          ListModeNames()};
}

}  // namespace ctxfs
