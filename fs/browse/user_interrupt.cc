// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/user_interrupt.h"

#include <signal.h>

namespace ctxfs {

void UserInterrupt::WatchSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { signalled_ = true; };
  ::sigaction(SIGINT, &action, nullptr);  // no SA_RESTART: wgetch returns
}

}  // namespace ctxfs
