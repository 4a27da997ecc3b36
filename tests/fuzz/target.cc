// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.h"

namespace ctxfs::fuzz {

const std::vector<Target>& AllTargets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> all;
    AddContainerTargets(all);
    AddParserTargets(all);
    AddApiTarget(all);
    AddOptionsTarget(all);
    AddRemoteTarget(all);
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

}  // namespace ctxfs::fuzz
