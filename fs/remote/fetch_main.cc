// SPDX-License-Identifier: Apache-2.0
//
// ctxfs-fetch: fetches URLs for a process that uses libctxfs, which starts it
// (core/remote/client/fetch_program.h) with a socket and shared memory. A
// process of its own, as it alone has a network and credentials.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/io/fd.h"
#include "core/remote/client/fetch_program.h"
#include "fs/remote/keeper_process.h"

namespace ctxfs {
namespace {

/// Returns the exit status of a process that has not become the keeper.
int Run() {
  Fd memory(remote::kFetchMemory);
  const Result<remote::SharedSlots> slots =
      remote::SharedSlots::OpenFile(memory);
  if (!slots) {
    std::fputs("ctxfs-fetch is for programs with libctxfs, which start it\n",
               stderr);
    return 2;
  }
  // The client waits for this process, and gets no child that it does not know.
  const pid_t child = ::fork();
  if (child != 0) return child < 0 ? 1 : 0;
  RunKeeper(remote::kFetchSocket, *slots, {});
}

}  // namespace
}  // namespace ctxfs

int main() { return ctxfs::Run(); }
