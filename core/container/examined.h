// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"

namespace ctxfs {

// What FileTable::Exists and Size say of a file, given what was found of it.

/// Whether it exists; `otherwise` if examining it failed for good.
template <typename T>
Result<bool> ExistsIf(const Result<T>& found, bool otherwise = false) {
  if (!found && !found.error().Permanent()) return found.error();
  return found.has_value() || otherwise;
}

/// Its size, a member of T; 0 if examining it failed for good.
template <typename T, typename Member>
Result<uint64_t> SizeIn(const Result<T>& found, Member size) {
  if (!found && !found.error().Permanent()) return found.error();
  return found ? std::invoke(size, *found) : 0;
}

}  // namespace ctxfs
