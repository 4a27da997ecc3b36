// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xxhash.h>

#include <cstdint>

#include "core/io/identity.h"

namespace ctxfs {

/// Returns a hash of an identity without its ctime: equal for files whose bytes
/// are taken to be the same (FileIdentity::EqualButForCtime).
inline uint64_t StampOf(FileIdentity identity) {
  identity.ctime = {};
  return XXH3_64bits(&identity, sizeof(identity));
}

}  // namespace ctxfs
