// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace ctxfs {

/// `error` as that of the part that `where` names: "WHERE: ...".
inline Error Within(const std::string& where, Error error) {
  error.what = where + ": " + error.what;
  return error;
}

/// kLimit: "WHAT over the limit of LIMIT".
inline Error OverLimit(std::string what, uint64_t limit,
                       uint64_t offset = kNoOffset) {
  what += " over the limit of " + std::to_string(limit);
  return {Code::kLimit, std::move(what), offset};
}

}  // namespace ctxfs
