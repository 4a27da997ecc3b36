// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xxhash.h>

#include <cstdint>

#include "core/io/identity.h"

namespace ctxfs {

/// A hash of all of an identity but ctime: equal for files whose bytes are
/// taken to be the same (FileIdentity::EqualButForCtime).
inline uint64_t StampOf(FileIdentity identity) {
  identity.ctime = {};
  return XXH3_64bits(&identity, sizeof(identity));
}

}  // namespace ctxfs
