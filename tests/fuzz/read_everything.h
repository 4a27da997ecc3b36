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

/// Lists and reads all that a mount would show of `container`: entries and
/// their attributes, own, derived and numbered files, views, and the containers
/// in it, opened with `options`. Aborts if it finds what no container may have
/// (RequireSound).
void ReadEverything(std::shared_ptr<const Container> container,
                    const OpenOptions& options, Depth depth);

}  // namespace ctxfs::fuzz
