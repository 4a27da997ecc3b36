// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/json/json.h"
#include "core/base/text/text.h"

namespace ctxfs {

/// Makes names of arrays UTF-8, and different ones (docs/views.md, section 3).
class UniqueNames {
 public:
  /// `reserved` is given to no array.
  explicit UniqueNames(std::string_view reserved) { used_.emplace(reserved); }

  /// Returns `name` with U+FFFD for each byte that is not UTF-8, and with the
  /// first of ~2, ~3, ... that makes it new.
  std::string Take(const std::string& name) {
    std::string key = IsUtf8(name) ? name : AsUtf8(name);
    if (used_.insert(key).second) return key;
    unsigned& n = next_.try_emplace(key, 2).first->second;
    while (true) {
      std::string marked = fmt::format("{}~{}", key, n++);
      if (used_.insert(marked).second) return marked;
    }
  }

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, unsigned> next_;
};

}  // namespace ctxfs
