// SPDX-License-Identifier: Apache-2.0
//
// One binary under three names: ctxfs, mount.ctxfs, fsck.ctxfs.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "fs/check.h"
#include "fs/daemon.h"
#include "fs/options.h"
#include "fs/session.h"
#include "fs/version.h"

namespace ctxfs {
namespace {

int RunMount(int argc, const char* const* argv) {
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

int Usage() {
  std::fputs(
      "usage: ctxfs mount SOURCE... MOUNTPOINT [-o OPTIONS] [-f] [-v]\n"
      "       ctxfs umount MOUNTPOINT\n"
      "       ctxfs check CONTAINER...\n"
      "       ctxfs --version\n"
      "mount.ctxfs is 'ctxfs mount', fsck.ctxfs is 'ctxfs check'.\n",
      stderr);
  return static_cast<int>(ExitCode::kUsage);
}

int Main(int argc, const char* const* argv) {
  const std::string_view called = argv[0];
  const std::string_view name = called.substr(called.rfind('/') + 1);
  if (name == "mount.ctxfs") return RunMount(argc, argv);
  if (name == "fsck.ctxfs") return RunCheck({argv + 1, argv + argc});

  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "mount") return RunMount(argc - 1, argv + 1);
  if (command == "check") return RunCheck({argv + 2, argv + argc});
  if (command == "umount" && argc == 3) {
    return static_cast<int>(RunUmount(argv[2]));
  }
  if (command == "--version" || command == "-V") {
    std::printf("ctxfs %s\n", kVersion);
    return 0;
  }
  return Usage();
}

}  // namespace
}  // namespace ctxfs

int main(int argc, char** argv) { return ctxfs::Main(argc, argv); }
