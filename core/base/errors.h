// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace ctxfs {

/// Prefixes `error` with the name of its part: "WHERE: ...".
inline Error Within(const std::string& where, Error error) {
  error.what = where + ": " + error.what;
  return error;
}

/// Returns a kLimit error: "WHAT over the limit of LIMIT".
inline Error OverLimit(std::string what, uint64_t limit,
                       uint64_t offset = kNoOffset) {
  what += " over the limit of " + std::to_string(limit);
  return {Code::kLimit, std::move(what), offset};
}

/// Whether `error` says that bytes are wrong or missing. Other errors say only
/// that bytes could not be read: a failed read, an unsupported method, a limit,
/// a missing key.
inline bool IsDamage(const Error& error) {
  return error.code == Code::kCorrupt || error.code == Code::kChecksum ||
         error.code == Code::kNotFound;
}

}  // namespace ctxfs
