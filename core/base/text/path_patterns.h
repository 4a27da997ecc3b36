// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Which paths are meant: those that match one of some patterns, or are below
/// one that does. A pattern is a relative path such as "views/npy/*.npy", whose
/// names may have what fnmatch(3) knows: `*`, `?` and `[a-z]`, for characters
/// of one name.
class PathPatterns {
 public:
  /// Reads patterns that colons separate. Returns nothing unless each is a
  /// relative path, without a name that is empty, "." or "..".
  static std::optional<PathPatterns> Parse(std::string_view text);

  /// Whether there is none.
  bool empty() const { return patterns_.empty(); }
  bool Match(const std::string& path) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace ctxfs
