// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json/json.h"

namespace ctxfs {

/// A function or class that other software would import to load a container.
struct GlobalLine {
  std::string name;  // quoted if necessary, safe for a terminal
  bool safe;
};

struct GlobalLines {
  std::vector<GlobalLine> shown;  // unsafe names first
  uint64_t more = 0;              // number of further names
};

/// Returns the first `most` of the `globals` in `info`, the result of
/// Container::Info; empty if it has no such list. `unsafe_only` omits safe
/// ones.
GlobalLines GlobalsOf(const Json& info, size_t most, bool unsafe_only);

}  // namespace ctxfs
