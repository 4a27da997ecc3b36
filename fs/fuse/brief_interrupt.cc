// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/brief_interrupt.h"

#include <sys/resource.h>
#include <time.h>

namespace ctxfs {

ThreadUsage ThreadUsage::Now() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {std::chrono::seconds(used.tv_sec) +
              std::chrono::nanoseconds(used.tv_nsec),
          usage.ru_nvcsw};
}

bool BriefInterrupt::IsLong() const {
  // If another thread than the owner calls this, the work is shared. Shared
  // work takes long as soon as it has lasted for kMax.
  if (std::this_thread::get_id() != owner_) return true;
  const ThreadUsage now = usage_();
  if (!is_late_) {
    is_late_ = true;
    late_ = now;
  }
  return now.waits != late_.waits || now.processor - late_.processor > kMax;
}

}  // namespace ctxfs
