// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs {

/// Returns a random seed for hash tables, so that no file can choose keys that
/// collide. Differs at each call; only the first call makes a system call.
uint64_t RandomSeed();

}  // namespace ctxfs
