// SPDX-License-Identifier: Apache-2.0
//
// ctxfs-fetch: fetches URLs for a process that uses libctxfs, which starts it
// (core/remote/client/fetch_program.h) with a socket and shared memory. It is a
// separate process, so that the process with libctxfs, which parses the files,
// needs no sockets and no credentials.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/io/fd.h"
#include "core/remote/client/fetch_program.h"
#include "fs/remote/keeper_process.h"

namespace ctxfs {
namespace {

/// Returns only in a process that does not become the keeper. The result is the
/// exit status.
int Run() {
  Fd memory(remote::kFetchMemory);
  const Result<remote::SharedSlots> slots =
      remote::SharedSlots::OpenFile(memory);
  if (!slots) {
    std::fputs("ctxfs-fetch is for programs with libctxfs, which start it\n",
               stderr);
    return 2;
  }
  // This process exits at once, and the client waits for that. So the keeper is
  // not a child of the client, which may not expect a child.
  const pid_t child = ::fork();
  if (child != 0) return child < 0 ? 1 : 0;
  RunKeeper(remote::kFetchSocket, -1, *slots, {});
}

}  // namespace
}  // namespace ctxfs

int main() { return ctxfs::Run(); }
