// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// A set of patterns for paths. It matches a path that one of the patterns
/// matches, and all paths below that. A pattern is a relative path such as
/// "views/npy/*.npy", with the wildcards of fnmatch(3) within one name: `*`,
/// `?` and `[a-z]`.
class PathPatterns {
 public:
  /// Parses patterns separated by colons. Returns nullopt unless each is a
  /// relative path without a name that is empty, "." or "..".
  static std::optional<PathPatterns> Parse(std::string_view text);

  bool empty() const { return patterns_.empty(); }
  bool Match(const std::string& path) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace ctxfs
