// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace ctxfs {

/// Runs `work` in a process of its own, for what cannot be undone in this one.
/// Returns its result (0 to 255), or -1 if the process died.
inline int InChild(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace ctxfs
