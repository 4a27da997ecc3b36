// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs mount` in a build without FUSE (CTXFS_FUSE=OFF): refuses to mount.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/version.h"
#include "fs/mount/mount_command.h"

namespace ctxfs {
namespace {

/// Whether a word before "--" is the flag `letter` or `name`.
bool HasFlag(int argc, char** argv, std::string_view letter,
             std::string_view name) {
  char** const end = std::find(argv + 1, argv + argc, std::string_view("--"));
  return std::any_of(argv + 1, end, [&](std::string_view word) {
    return word == letter || word == name;
  });
}

int RunMount(int argc, char** argv) {
  if (HasFlag(argc, argv, "-h", "--help")) {
    std::fputs(HelpOf(kMountCommand).c_str(), stdout);
    return 0;
  }
  if (HasFlag(argc, argv, "-V", "--version")) {
    std::puts(VersionLine().c_str());
    return 0;
  }
  std::fputs(
      "ctxfs: this build has no FUSE and cannot mount; 'ctxfs ls', 'ctxfs cat' "
      "and 'ctxfs extract' show the same files\n",
      stderr);
  return static_cast<int>(ExitCode::kFuse);
}

}  // namespace

const Command kMountCommand{.name = "mount",
                            .operands = "SOURCE... [MOUNTPOINT]",
                            .summary = "Cannot mount: this build has no FUSE",
                            .run_words = &RunMount,
                            .examples =
                                "  ctxfs ls -R model.mosh\n"
                                "  ctxfs extract model.mosh files\n",
                            .kind = OperandKind::kSource,
                            .exit_codes = "  7 this build has no FUSE\n"};

int RunMountByWord(int argc, char** argv) { return RunMount(argc, argv); }

std::string VersionLine() {
  return std::string("ctxfs ") + kVersion + " (without FUSE)";
}

CompletionTables CompletionTablesOf(std::span<const Command* const> commands) {
  return {commands, {"-h", "--help", "-V", "--version"}, {}, {}, {}};
}

}  // namespace ctxfs
