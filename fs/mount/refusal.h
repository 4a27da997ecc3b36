// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// Returns the probable reason why FUSE refused a mount, with a remedy: no
/// /dev/fuse, no right to mount, no fusermount3, no user_allow_other.
/// `allow_others`: the mount had the option allow_other or allow_root.
std::string WhyRefused(bool allow_others);

/// Explains why unmounting `path` failed with the errno `failed`.
std::string WhyNotUnmounted(const std::string& path, int failed);

}  // namespace ctxfs
