// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/container/container.h"
#include "core/container/format.h"

namespace ctxfs::fuzz {

/// How far down containers within a container are followed, and how many of
/// one.
struct Depth {
  int levels;
  int each;
};

/// Lists and reads all that a mount would show of `container`: entries with
/// what is said of them, own, derived and numbered files, views, and what
/// hangs in it, opened with `options`. What must hold of any container aborts.
void ReadEverything(std::shared_ptr<const Container> container,
                    const OpenOptions& options, Depth depth);

}  // namespace ctxfs::fuzz
