// SPDX-License-Identifier: Apache-2.0
//
// One binary under three names: ctxfs, mount.ctxfs, fsck.ctxfs.
#include <malloc.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "fs/commands/commands.h"
#include "fs/daemon.h"
#include "fs/options.h"
#include "fs/session.h"
#include "fs/version.h"

namespace ctxfs {
namespace {

int RunMount(int argc, char** argv) {
  MountOptions options;
  std::string error;
  if (!ParseMountOptions(argc, argv, &options, &error)) {
    std::fprintf(stderr, "ctxfs: %s; -h shows how\n", error.c_str());
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
    return Serve(options, ready);
  };
  return static_cast<int>(options.foreground ? serve([] {})
                                             : RunInBackground(serve));
}

int RunUmountCommand(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: ctxfs umount MOUNTPOINT\n", stderr);
    return static_cast<int>(ExitCode::kUsage);
  }
  return static_cast<int>(RunUmount(argv[1]));
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
  const char* what;
};

constexpr Subcommand kSubcommands[] = {
    {"mount", &RunMount, "SOURCE... MOUNTPOINT   shows them as files"},
    {"umount", &RunUmountCommand, "MOUNTPOINT            ends that"},
    {"ls", &RunLs, "SOURCE[//PATH]...         names, with -l what is known"},
    {"cat", &RunCat, "SOURCE//PATH...          bytes to standard output"},
    {"info", &RunInfo, "SOURCE...               what is in a container"},
    {"check", &RunCheck, "SOURCE...              whether all of it is sound"},
    {"extract", &RunExtract, "SOURCE[//PATH] DIR   writes files out"},
};

int Usage(std::FILE* to) {
  for (const Subcommand& one : kSubcommands) {
    std::fprintf(to, "%s ctxfs %s %s\n",
                 &one == kSubcommands ? "usage:" : "      ",
                 std::string(one.name).c_str(), one.what);
  }
  std::fputs(
      "-h after a command tells its options; ctxfs --version. mount.ctxfs is\n"
      "'ctxfs mount', fsck.ctxfs is 'ctxfs check'; see ctxfs(8).\n",
      to);
  return static_cast<int>(to == stdout ? ExitCode::kOk : ExitCode::kUsage);
}

int Main(int argc, char** argv) {
  GiveMemoryBack();
  const std::string_view called = argv[0];
  const std::string_view name = called.substr(called.rfind('/') + 1);
  if (name == "mount.ctxfs") return RunMount(argc, argv);
  if (name == "fsck.ctxfs") return RunCheck(argc, argv);

  const std::string_view command = argc > 1 ? argv[1] : "";
  for (const Subcommand& one : kSubcommands) {
    if (command == one.name) return one.run(argc - 1, argv + 1);
  }
  if (command == "--version" || command == "-V") {
    std::printf("ctxfs %s\n", kVersion);
    return 0;
  }
  return Usage(command == "--help" || command == "-h" ? stdout : stderr);
}

}  // namespace
}  // namespace ctxfs

int main(int argc, char** argv) { return ctxfs::Main(argc, argv); }
