// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/json/json.h"
#include "core/base/text/text.h"

namespace ctxfs {

/// Makes array names valid UTF-8 and unique (docs/views.md, section 3).
class UniqueNames {
 public:
  /// No array receives the name `reserved`.
  explicit UniqueNames(std::string_view reserved) { used_.emplace(reserved); }

  /// Replaces each byte that is not UTF-8 with U+FFFD. If the name is taken,
  /// appends the first of ~2, ~3, ... that makes it unique. The result lives as
  /// long as this object.
  const std::string& Take(std::string name) {
    if (!IsUtf8(name)) name = AsUtf8(name);
    const auto [found, is_new] = used_.insert(std::move(name));
    if (is_new) return *found;
    const std::string& key = *found;
    unsigned& n = next_.try_emplace(key, 2).first->second;
    while (true) {
      const auto marked = used_.insert(fmt::format("{}~{}", key, n++));
      if (marked.second) return *marked.first;
    }
  }

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, unsigned> next_;
};

}  // namespace ctxfs
