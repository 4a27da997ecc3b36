// SPDX-License-Identifier: Apache-2.0
//
// One binary under three names: ctxfs, mount.ctxfs, fsck.ctxfs.
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fs/commands/arguments.h"
#include "fs/commands/commands.h"
#include "fs/daemon.h"
#include "fs/inherited.h"
#include "fs/log/sinks.h"
#include "fs/options.h"
#include "fs/session.h"
#include "fs/version.h"

namespace ctxfs {
namespace {

int RunMount(int argc, char** argv) {
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
  SetLogLevel(options.log);
  const auto serve = [&](const std::function<void()>& ready) {
    return Serve(options, [&] {
      inherited.Close();
      ready();
    });
  };
  return static_cast<int>(options.foreground ? serve([] {})
                                             : RunInBackground(serve));
}

int RunUmountCommand(int argc, char** argv) {
  constexpr Command kUmount{"ctxfs umount", "MOUNTPOINT", "", 1, 1};
  Arguments arguments;
  if (const auto code = ParseArguments(argc, argv, kUmount, &arguments)) {
    return *code;
  }
  return static_cast<int>(RunUmount(arguments.operands.front().c_str()));
}

/// Large memory is the kernel's again as soon as it is freed
/// (core/base/bytes.cc keeps some for the next): by default glibc would learn
/// to keep up to twice 32 MiB of it for each thread, on top of `cache=`.
void GiveMemoryBack() {
  constexpr int kLarge = 1 << 20;
  (void)::mallopt(M_MMAP_THRESHOLD, kLarge);
  (void)::mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
}

struct Subcommand {
  std::string_view name;
  int (*run)(int argc, char** argv);
  const char* usage;
};

constexpr Subcommand kSubcommands[] = {
    {"mount", &RunMount, "SOURCE... MOUNTPOINT   show containers as files"},
    {"umount", &RunUmountCommand, "MOUNTPOINT            unmount"},
    {"ls", &RunLs, "SOURCE[//PATH]...         list files; -l with details"},
    {"cat", &RunCat, "SOURCE//PATH...          write files to standard output"},
    {"info", &RunInfo, "SOURCE...               describe containers"},
    {"check", &RunCheck, "SOURCE...              verify every checksum"},
    {"extract", &RunExtract, "SOURCE[//PATH] DIR   copy files to a directory"},
};

const Subcommand* FindSubcommand(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kSubcommands), std::end(kSubcommands),
                   [name](const Subcommand& one) { return one.name == name; });
  return found == std::end(kSubcommands) ? nullptr : found;
}

void PrintUsage(std::FILE* to) {
  for (const Subcommand& one : kSubcommands) {
    std::fprintf(to, "%s ctxfs %s %s\n",
                 &one == kSubcommands ? "usage:" : "      ",
                 std::string(one.name).c_str(), one.usage);
  }
  std::fputs(
      "'ctxfs help COMMAND' lists the options of a command; ctxfs --version.\n"
      "'ctxfs SOURCE MOUNTPOINT' and mount.ctxfs are 'ctxfs mount', "
      "fsck.ctxfs\n"
      "is 'ctxfs check' with the exit codes of fsck(8). Manual: ctxfs(8).\n",
      to);
}

int UnknownCommand(const std::string& word) {
  std::fprintf(stderr,
               "ctxfs: '%s' is not a command and no such file exists; "
               "try 'ctxfs --help'\n",
               word.c_str());
  return static_cast<int>(ExitCode::kUsage);
}

/// ctxfs help [COMMAND]
int RunHelp(int argc, char** argv) {
  if (argc < 2) {
    PrintUsage(stdout);
    return 0;
  }
  const Subcommand* const command = FindSubcommand(argv[1]);
  if (command == nullptr) {
    std::fprintf(stderr, "ctxfs: '%s' is not a command; try 'ctxfs --help'\n",
                 argv[1]);
    return static_cast<int>(ExitCode::kUsage);
  }
  char help[] = "--help";
  char* words[] = {argv[1], help, nullptr};
  return command->run(2, words);
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
  if (const Subcommand* const command = FindSubcommand(word)) {
    return command->run(argc - 1, argv + 1);
  }
  if (word == "help" || word == "--help" || word == "-h") {
    return RunHelp(argc - 1, argv + 1);
  }
  // mount.ctxfs understands --version.
  return IsSourceOrOption(word) ? RunMount(argc, argv) : UnknownCommand(word);
}

}  // namespace
}  // namespace ctxfs

int main(int argc, char** argv) { return ctxfs::Main(argc, argv); }
