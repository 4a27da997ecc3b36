// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/result.h"

namespace ctxfs {

/// Names, numbered from 0, in one string. All names together must have less
/// than 4 GiB.
class NameList {
 public:
  uint32_t count() const { return static_cast<uint32_t>(ends_.size()); }
  uint64_t bytes() const { return text_.size(); }

  std::string_view operator[](uint32_t number) const {
    const uint32_t begin = number == 0 ? 0 : ends_[number - 1];
    return std::string_view(text_).substr(begin, ends_[number] - begin);
  }

  /// Fails if there is no memory for it (HeapAllowance).
  Status Add(std::string_view name) {
    CTXFS_TRY(AdmitGrowth(ends_));
    CTXFS_TRY(AppendAdmitted(text_, name));
    ends_.push_back(static_cast<uint32_t>(text_.size()));
    return {};
  }

  /// Sorts the names for Find. Returns each repeated name with its previous
  /// occurrence, in the order of names and then of numbers. Fails like Add.
  Result<std::vector<std::pair<uint32_t, uint32_t>>> Sort();

  /// The first name equal to `name`. Must not be called before Sort.
  std::optional<uint32_t> Find(std::string_view name) const;

 private:
  std::string text_;
  std::vector<uint32_t> ends_;
  std::vector<uint32_t> sorted_;
};

}  // namespace ctxfs
