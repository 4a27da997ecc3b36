// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.h"

#include <cstdio>
#include <cstdlib>

namespace ctxfs::fuzz {

const std::vector<Target>& AllTargets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> all;
    AddContainerTargets(all);
    AddParserTargets(all);
    AddOptionsTarget(all);
    return all;
  }();
  return targets;
}

const Target* FindTarget(const std::string& name) {
  for (const Target& target : AllTargets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace ctxfs::fuzz
