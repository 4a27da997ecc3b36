// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/path_patterns.h"

#include <fnmatch.h>

#include <algorithm>

namespace ctxfs {
namespace {

bool IsRelativePath(std::string_view path) {
  while (true) {
    const size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    if (name.empty() || name == "." || name == "..") return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<PathPatterns> PathPatterns::Parse(std::string_view text) {
  PathPatterns all;
  while (true) {
    const size_t end = text.find(':');
    const std::string_view pattern = text.substr(0, end);
    if (!IsRelativePath(pattern)) return std::nullopt;
    all.patterns_.emplace_back(pattern);
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + 1);
  }
}

bool PathPatterns::Match(const std::string& path) const {
  // FNM_LEADING_DIR also matches paths below a match.
  constexpr int kFlags = FNM_PATHNAME | FNM_NOESCAPE | FNM_LEADING_DIR;
  return std::any_of(
      patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
        return ::fnmatch(pattern.c_str(), path.c_str(), kFlags) == 0;
      });
}

}  // namespace ctxfs
