// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ctxfs {

/// `ctxfs check CONTAINER...` (fsck.ctxfs): reads every entry and verifies
/// every checksum, printing each fault with entry and byte offset. Returns 0
/// for clean, 1 for faults found, 2 for containers that cannot be checked.
int RunCheck(const std::vector<std::string>& arguments);

}  // namespace ctxfs
