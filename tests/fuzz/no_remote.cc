// SPDX-License-Identifier: Apache-2.0
//
// A build without CTXFS_REMOTE parses no URLs (remote.cc).
#include "tests/fuzz/target.h"

namespace ctxfs::fuzz {

void AddRemoteTarget(std::vector<Target>& /*targets*/) {}

}  // namespace ctxfs::fuzz
