// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace ctxfs {

/// Sets how often at most a FileSource with watch_ctime looks whether its name
/// leads to another file, while its ctime stays the same: once a second unless
/// called. For the whole process, before files are opened.
void SetPathCheckInterval(std::chrono::seconds interval);

}  // namespace ctxfs
