// SPDX-License-Identifier: Apache-2.0
//
// One binary under three names: ctxfs, mount.ctxfs, fsck.ctxfs.
#include <malloc.h>
#include <sys/stat.h>

#include <cstdio>
#include <ctime>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "fs/commands/arguments.h"
#include "fs/common/exit_code.h"
#include "fs/common/nearest_word.h"
#include "fs/common/shown_text.h"
#include "fs/log/sinks.h"
#include "fs/mount/mount_command.h"

namespace ctxfs {
namespace {

int RunHelp(const Arguments& arguments);

const Command kHelpCommand{.name = "help",
                           .operands = "[COMMAND]",
                           .summary = "Explains a command",
                           .run = &RunHelp,
                           .kind = OperandKind::kCommand,
                           .max_operands = 1,
                           .exit_codes = kPlainCodes};

int RunVersion(const Arguments& /*arguments*/) {
  std::puts(VersionLine().c_str());
  return 0;
}

const Command kVersionCommand{.name = "version",
                              .operands = "",
                              .summary = "Prints the version",
                              .run = &RunVersion,
                              .max_operands = 0,
                              .exit_codes = kPlainCodes};

const Command* const kCommands[] = {
    &kMountCommand,  &kUmountCommand, &kMountsCommand,  &kStatsCommand,
    &kLsCommand,     &kCatCommand,    &kInfoCommand,    &kBrowseCommand,
    &kCheckCommand,  &kDiffCommand,   &kDigestCommand,  &kExtractCommand,
    &kReportCommand, &kCacheCommand,  &kFormatsCommand, &kVersionCommand,
    &kHelpCommand};

void PrintUsage(std::FILE* to) {
  std::fputs("usage: ctxfs COMMAND [OPTION]... [OPERAND]...\n\n", to);
  for (const Command* const command : kCommands) {
    const std::string alias =
        command->alias.empty() ? "" : " (" + std::string(command->alias) + ")";
    std::fprintf(to, "  ctxfs %-8s %-22s %s%s\n",
                 std::string(command->name).c_str(),
                 std::string(command->operands).c_str(),
                 std::string(command->summary).c_str(), alias.c_str());
  }
  std::fputs(
      "\n'ctxfs help COMMAND' lists the options of a command; ctxfs "
      "--version.\n"
      "'ctxfs SOURCE MOUNTPOINT' and mount.ctxfs are 'ctxfs mount', "
      "fsck.ctxfs\n"
      "is 'ctxfs check' with the exit codes of fsck(8). Manual: ctxfs(1).\n",
      to);
}

/// Returns " (did you mean 'check'?)", for example; empty if no command has a
/// similar name.
std::string CommandMeant(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Command* const command : kCommands) {
    names.push_back(command->name);
    if (!command->alias.empty()) names.push_back(command->alias);
  }
  return DidYouMean(word, names);
}

int UnknownCommand(const std::string& word) {
  std::fprintf(stderr,
               "ctxfs: '%s' is not a command%s and no such file exists; "
               "try 'ctxfs --help'\n",
               ShownName(word).c_str(), CommandMeant(word).c_str());
  return static_cast<int>(ExitCode::kUsage);
}

/// Runs `ctxfs help [COMMAND]`.
int RunHelp(const Arguments& arguments) {
  if (arguments.operands.empty()) {
    PrintUsage(stdout);
    return 0;
  }
  std::string word = arguments.operands.front();
  const Command* const command = FindCommand(kCommands, word);
  if (command == nullptr) {
    std::fprintf(stderr, "ctxfs: '%s' is not a command%s; try 'ctxfs --help'\n",
                 ShownName(word).c_str(), CommandMeant(word).c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  char help[] = "--help";
  char* words[] = {word.data(), help, nullptr};
  return RunCommand(2, words, *command);
}

/// Makes malloc return freed memory of 128 KiB or more to the kernel
/// (core/base/bytes.cc keeps some for reuse). By default glibc raises this
/// threshold, until it keeps up to twice 32 MiB per thread, on top of `cache=`.
/// Buffers use the same threshold. With a threshold of 1 MiB, reading a table
/// of 1M rows with cache=64M left 220 MiB in the heaps of 13 threads. Smaller
/// allocations need few heaps, because glibc caches most of them per thread.
void GiveMemoryBack() {
  constexpr int kLarge = 128 << 10;
  constexpr int kMaxHeaps = 2;
  (void)::mallopt(M_MMAP_THRESHOLD, kLarge);
  (void)::mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
  (void)::mallopt(M_ARENA_MAX, kMaxHeaps);
}

/// Whether `ctxfs WORD ...` mounts. For the type fuse.ctxfs, mount.fuse(8) runs
/// `ctxfs SOURCE MOUNTPOINT -o OPTIONS`. A word that is neither a path nor an
/// option is more likely a misspelt command.
bool IsSourceOrOption(const std::string& word) {
  struct stat st {};
  return word.starts_with('-') || word.find('/') != std::string::npos ||
         ::lstat(word.c_str(), &st) == 0;
}

int Main(int argc, char** argv) {
  GiveMemoryBack();
  SetLogSink(StderrSink());
  ::tzset();  // before the sandbox hides the time zone's file
  const std::string_view called = argv[0];
  const std::string_view name = called.substr(called.rfind('/') + 1);
  if (name == "mount.ctxfs") return RunCommand(argc, argv, kMountCommand);
  if (name == "fsck.ctxfs") return RunFsck(argc, argv);
  if (argc < 2) {
    PrintUsage(stderr);
    return static_cast<int>(ExitCode::kUsage);
  }
  const std::string word = argv[1];
  if (word == "__complete") {
    return RunComplete(argc - 1, argv + 1, CompletionTablesOf(kCommands));
  }
  if (const Command* const command = FindCommand(kCommands, word)) {
    return RunCommand(argc - 1, argv + 1, *command);
  }
  if (word == "--help" || word == "-h") {
    PrintUsage(stdout);
    return 0;
  }
  // `--version` counts as an option here; RunMountByWord prints the version.
  return IsSourceOrOption(word) ? RunMountByWord(argc, argv)
                                : UnknownCommand(word);
}

}  // namespace
}  // namespace ctxfs

int main(int argc, char** argv) {
  try {
    return ctxfs::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("ctxfs: out of memory\n", stderr);
  } catch (...) {
    std::fputs("ctxfs: internal error\n", stderr);
  }
  return static_cast<int>(ctxfs::ExitCode::kSource);
}
