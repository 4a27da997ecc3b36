// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace ctxfs {

/// A function or class that other software would import to load a container.
struct GlobalLine {
  std::string name;  // fit for a line of text
  bool safe;
};

struct GlobalLines {
  std::vector<GlobalLine> shown;  // those that are not safe first
  uint64_t more = 0;              // that are not shown
};

/// The first of the `globals` in what a container's Info() returned, at most
/// `most` of them; none if it has no such list. `unsafe_only`: the safe ones
/// do not count.
GlobalLines GlobalsOf(const Json& info, size_t most, bool unsafe_only);

}  // namespace ctxfs
