// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/content/read_context.h"

namespace ctxfs {

/// Calls context.Check() at every 256th step of a loop with the counter `i`.
inline Status CheckAt(const ReadContext& context, uint64_t i) {
  return i % 256 == 0 ? context.Check() : Status();
}

}  // namespace ctxfs
