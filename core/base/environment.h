// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <functional>
#include <string>

namespace ctxfs {

/// Returns an environment variable; empty if it is not set.
using Environment = std::function<std::string(const char* name)>;

/// Reads the environment of this process.
inline std::string EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace ctxfs
