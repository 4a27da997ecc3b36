// SPDX-License-Identifier: Apache-2.0
//
// A build without FUSE parses no options of a mount (options.cc).
#include "tests/fuzz/target.h"

namespace ctxfs::fuzz {

void AddOptionsTarget(std::vector<Target>& /*targets*/) {}

}  // namespace ctxfs::fuzz
