// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Takes from the calling thread, and from every thread that it starts from
/// then on, what serving files does not need: new privileges, and of the file
/// system everything but reading below `trees`, which are directories, and the
/// FUSE device. Nor can they connect anywhere by TCP, where the kernel knows
/// how to deny that. What is open already stays open. For good.
///
/// The number of the kernel's Landlock interface, 0 where it has none: then
/// only new privileges are denied.
Result<int> EnterSandbox(const std::vector<std::string>& trees);

/// Sees to it that neither this process nor what it starts gains privileges by
/// executing a file.
void DenyNewPrivileges();

}  // namespace ctxfs
