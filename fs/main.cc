// SPDX-License-Identifier: Apache-2.0
//
// One binary under three names: ctxfs, mount.ctxfs, fsck.ctxfs.
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "fs/commands/arguments.h"
#include "fs/commands/commands.h"
#include "fs/common/nearest_word.h"
#include "fs/daemon.h"
#include "fs/inherited.h"
#include "fs/log/sinks.h"
#include "fs/mount_point.h"
#include "fs/notify.h"
#include "fs/options.h"
#include "fs/session.h"
#include "fs/version.h"

namespace ctxfs {
namespace {

/// "'model.mcf' is mounted at 'mnt'; ...": what a person has to know of a
/// mount.
std::string MountedLine(const MountOptions& options) {
  std::string line = Quote(options.sources.front());
  const size_t more = options.sources.size() - 1;
  line += more == 0 ? " is" : " and " + std::to_string(more) + " more are";
  line += " mounted at " + Quote(options.mount_point);
  if (options.list == ListMode::kPrimary) {
    line += "; views/ and .ctxfs/ are unlisted there (-o list=all lists them)";
  } else if (options.list == ListMode::kViews) {
    line += "; .ctxfs/ is unlisted there (-o list=all lists it)";
  }
  return line + "; unmount it with 'umount " + options.mount_point + "'";
}

/// Tells a person at a terminal of the mount, and a script the mount point that
/// was made for it.
void PrintMounted(const MountOptions& options, bool made) {
  const bool shown = ::isatty(STDOUT_FILENO) == 1;
  if (made && !shown) std::puts(options.mount_point.c_str());
  if (!shown && ::isatty(STDERR_FILENO) != 1) return;
  std::fprintf(shown ? stdout : stderr, "%s\n", MountedLine(options).c_str());
}

int Mount(MountOptions options, const InheritedDescriptors& inherited) {
  const bool made = options.mount_point.empty();
  if (made) {
    Result<std::string> point = NewMountPoint(options.sources.front());
    if (!point) {
      Log(LogLevel::kError, point.error().Text());
      return static_cast<int>(ExitCode::kMountPoint);
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
    const std::string status = "serving " + Quote(options.sources.front());
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

/// `ctxfs mount` and mount.ctxfs. `by_word`: the command line is
/// `ctxfs SOURCE MOUNTPOINT`, where a single word may be a mistake.
int RunMountAs(int argc, char** argv, bool by_word) {
  const InheritedDescriptors inherited = InheritedDescriptors::Find();
  MountOptions options;
  std::string error;
  if (!ParseMountOptions(argc, argv, &options, &error)) {
    std::fprintf(stderr, "ctxfs: %s; try 'ctxfs mount --help'\n",
                 error.c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  if (options.help) {
    std::fputs(MountUsage().c_str(), stdout);
    return 0;
  }
  if (options.version) {
    std::printf("ctxfs %s\n", kVersion);
    return 0;
  }
  if (by_word && options.mount_point.empty()) {
    const std::string source = Quote(options.sources.front());
    std::fprintf(stderr,
                 "ctxfs: %s is not a command; mount it with 'ctxfs mount', or "
                 "describe it with 'ctxfs info'\n",
                 source.c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  return Mount(std::move(options), inherited);
}

int RunMount(int argc, char** argv) {
  return RunMountAs(argc, argv, /*by_word=*/false);
}

extern const Command kUmountCommand;

int RunUmountCommand(int argc, char** argv) {
  Arguments arguments;
  if (const auto code =
          ParseArguments(argc, argv, kUmountCommand, &arguments)) {
    return *code;
  }
  return static_cast<int>(RunUmount(arguments.operands.front().c_str()));
}

int RunHelp(int argc, char** argv);

const Command kMountCommand{.name = "mount",
                            .operands = "SOURCE... [MOUNTPOINT]",
                            .summary = "Shows containers as files",
                            .run = &RunMount,
                            .kind = OperandKind::kSource};

const Command kUmountCommand{.name = "umount",
                             .operands = "MOUNTPOINT",
                             .summary = "Unmounts, as umount(8) does",
                             .run = &RunUmountCommand,
                             .examples = "  ctxfs umount /mnt/model\n",
                             .kind = OperandKind::kMount,
                             .min_operands = 1,
                             .max_operands = 1};

const Command kHelpCommand{.name = "help",
                           .operands = "[COMMAND]",
                           .summary = "Explains a command",
                           .run = &RunHelp,
                           .kind = OperandKind::kCommand,
                           .max_operands = 1};

const Command* const kCommands[] = {
    &kMountCommand,  &kUmountCommand,  &kMountsCommand, &kLsCommand,
    &kCatCommand,    &kInfoCommand,    &kCheckCommand,  &kExtractCommand,
    &kReportCommand, &kFormatsCommand, &kHelpCommand};

const Command* FindCommand(std::string_view name) {
  const auto* const found = std::find_if(
      std::begin(kCommands), std::end(kCommands),
      [name](const Command* command) { return command->name == name; });
  return found == std::end(kCommands) ? nullptr : *found;
}

void PrintUsage(std::FILE* to) {
  std::fputs("usage: ctxfs COMMAND [OPTION]... [OPERAND]...\n\n", to);
  for (const Command* const command : kCommands) {
    std::fprintf(to, "  ctxfs %-8s %-22s %s\n",
                 std::string(command->name).c_str(),
                 std::string(command->operands).c_str(),
                 std::string(command->summary).c_str());
  }
  std::fputs(
      "\n'ctxfs help COMMAND' lists the options of a command; ctxfs "
      "--version.\n"
      "'ctxfs SOURCE MOUNTPOINT' and mount.ctxfs are 'ctxfs mount', "
      "fsck.ctxfs\n"
      "is 'ctxfs check' with the exit codes of fsck(8). Manual: ctxfs(1).\n",
      to);
}

/// " (did you mean 'check'?)", or nothing.
std::string CommandMeant(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Command* const command : kCommands) {
    names.push_back(command->name);
  }
  return DidYouMean(word, names);
}

int UnknownCommand(const std::string& word) {
  std::fprintf(stderr,
               "ctxfs: '%s' is not a command%s and no such file exists; "
               "try 'ctxfs --help'\n",
               word.c_str(), CommandMeant(word).c_str());
  return static_cast<int>(ExitCode::kUsage);
}

/// ctxfs help [COMMAND]
int RunHelp(int argc, char** argv) {
  Arguments arguments;
  if (const auto code = ParseArguments(argc, argv, kHelpCommand, &arguments)) {
    return *code;
  }
  if (arguments.operands.empty()) {
    PrintUsage(stdout);
    return 0;
  }
  std::string& word = arguments.operands.front();
  const Command* const command = FindCommand(word);
  if (command == nullptr) {
    std::fprintf(stderr, "ctxfs: '%s' is not a command%s; try 'ctxfs --help'\n",
                 word.c_str(), CommandMeant(word).c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  char help[] = "--help";
  char* words[] = {word.data(), help, nullptr};
  return command->run(2, words);
}

/// Large memory is the kernel's again as soon as it is freed
/// (core/base/bytes.cc keeps some for the next): by default glibc would learn
/// to keep up to twice 32 MiB of it for each thread, on top of `cache=`. The
/// threshold is that of Buffers: with 1 MiB, reading a table of 1M rows with
/// cache=64M left 220 MiB in the heaps of 13 threads. Few heaps do for the
/// rest, most of which glibc keeps for each thread anyway.
void GiveMemoryBack() {
  constexpr int kLarge = 128 << 10;
  constexpr int kMostHeaps = 4;
  (void)::mallopt(M_MMAP_THRESHOLD, kLarge);
  (void)::mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
  (void)::mallopt(M_ARENA_MAX, kMostHeaps);
}

/// Whether `ctxfs WORD ...` mounts. mount.fuse(8) runs `ctxfs SOURCE MOUNTPOINT
/// -o OPTIONS` for the type fuse.ctxfs; a word that is neither a path nor an
/// option is more likely a misspelt command.
bool IsSourceOrOption(const std::string& word) {
  struct stat st {};
  return word.starts_with('-') || word.find('/') != std::string::npos ||
         ::lstat(word.c_str(), &st) == 0;
}

int Main(int argc, char** argv) {
  GiveMemoryBack();
  SetLogSink(StderrSink());
  const std::string_view called = argv[0];
  const std::string_view name = called.substr(called.rfind('/') + 1);
  if (name == "mount.ctxfs") return RunMount(argc, argv);
  if (name == "fsck.ctxfs") return RunFsck(argc, argv);
  if (argc < 2) {
    PrintUsage(stderr);
    return static_cast<int>(ExitCode::kUsage);
  }
  const std::string word = argv[1];
  if (word == "__complete") {
    return RunComplete(argc - 1, argv + 1,
                       {kCommands,
                        MountFlags(),
                        MountOptionNames(),
                        {"read", "open", "off"},
                        ListModeNames()});
  }
  if (const Command* const command = FindCommand(word)) {
    return command->run(argc - 1, argv + 1);
  }
  if (word == "--help" || word == "-h") {
    PrintUsage(stdout);
    return 0;
  }
  // mount.ctxfs understands --version.
  return IsSourceOrOption(word) ? RunMountAs(argc, argv, /*by_word=*/true)
                                : UnknownCommand(word);
}

}  // namespace
}  // namespace ctxfs

int main(int argc, char** argv) { return ctxfs::Main(argc, argv); }
