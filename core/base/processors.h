// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <unistd.h>

namespace ctxfs {

/// Has the calling thread run where the first thread of the process does: for a
/// thread that may have been started by one that stays on a processor, which it
/// inherits.
inline void UseAllProcessors() {
  cpu_set_t all;
  if (::sched_getaffinity(::getpid(), sizeof(all), &all) != 0) return;
  (void)::sched_setaffinity(0, sizeof(all), &all);
}

/// Has the calling thread run on processor `number` alone, unless the process
/// is kept from that. Threads that it starts have to call UseAllProcessors.
inline void StayOnProcessor(unsigned number) {
  cpu_set_t all;
  if (number >= CPU_SETSIZE ||
      ::sched_getaffinity(::getpid(), sizeof(all), &all) != 0 ||
      !CPU_ISSET(number, &all)) {
    return;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(number, &one);
  (void)::sched_setaffinity(0, sizeof(one), &one);
}

}  // namespace ctxfs
