// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/json/json.h"
#include "core/base/text/text.h"

namespace ctxfs {

/// Makes array names valid UTF-8 and unique (docs/views.md, section 3).
class UniqueNames {
 public:
  /// No array receives the name `reserved`.
  explicit UniqueNames(std::string_view reserved) { used_.emplace(reserved); }

  /// Replaces each byte that is not UTF-8 with U+FFFD. If the name is taken,
  /// appends the first of ~2, ~3, ... that makes it unique.
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
