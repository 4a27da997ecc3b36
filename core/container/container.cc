// SPDX-License-Identifier: Apache-2.0
#include "core/container/container.h"

namespace ctxfs {

std::vector<Error> DamageIn(const std::vector<Warning>& warnings) {
  std::vector<Error> faults;
  for (const Warning& warning : warnings) {
    if (!warning.damage) continue;
    faults.push_back({Code::kCorrupt, warning.text, warning.offset});
  }
  return faults;
}

std::shared_ptr<const FileTable> Container::Entries() const {
  const Tables files = Files();
  if (!files.empty() && HoldsEntries(files.front()->placement().role)) {
    return files.front();
  }
  return EmptyTable();
}

}  // namespace ctxfs
