// SPDX-License-Identifier: Apache-2.0
#include "core/container/facts/name_list.h"

#include <algorithm>
#include <numeric>

namespace ctxfs {

Result<std::vector<std::pair<uint32_t, uint32_t>>> NameList::Sort() {
  CTXFS_TRY(HeapAllowance::Admit(uint64_t{count()} * sizeof(uint32_t)));
  sorted_.resize(count());
  std::iota(sorted_.begin(), sorted_.end(), 0U);
  const auto less = [this](uint32_t a, uint32_t b) {
    const int compared = (*this)[a].compare((*this)[b]);
    return compared != 0 ? compared < 0 : a < b;
  };
  // Often the names are sorted already: most writers sort by name within a
  // type.
  if (!std::is_sorted(sorted_.begin(), sorted_.end(), less)) {
    std::sort(sorted_.begin(), sorted_.end(), less);
  }
  std::vector<std::pair<uint32_t, uint32_t>> repeated;
  for (size_t i = 1; i < sorted_.size(); ++i) {
    if ((*this)[sorted_[i]] == (*this)[sorted_[i - 1]]) {
      CTXFS_TRY(AdmitGrowth(repeated));
      repeated.emplace_back(sorted_[i], sorted_[i - 1]);
    }
  }
  return repeated;
}

std::optional<uint32_t> NameList::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(sorted_.begin(), sorted_.end(), name,
                       [this](uint32_t number, std::string_view wanted) {
                         return (*this)[number] < wanted;
                       });
  if (found == sorted_.end() || (*this)[*found] != name) return std::nullopt;
  return *found;
}

}  // namespace ctxfs
