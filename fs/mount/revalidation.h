// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/vfs/sources.h"
#include "fs/mount/options.h"

namespace ctxfs {

/// Sets the options that revalidate=auto stands for: revalidate=1 and
/// passthrough=off if `sources` is a container in a file of a local file
/// system, has no warnings and no parts that fail alone, and nothing in
/// `options` depends on single opens (docs/mounting.md); else revalidate=0.
void ChooseRevalidation(const Sources& sources, MountOptions& options);

}  // namespace ctxfs
