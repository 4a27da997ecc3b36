// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/base/limits.h"

namespace ctxfs {

/// The most memory that this process had since ForgetPeak, in bytes.
inline uint64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) {
      return std::strtoull(line.c_str() + 6, nullptr, 10) * limits::kKiB;
    }
  }
  return 0;
}

inline void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace ctxfs
