// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ctxfs {

/// Finds free names by numbering them: "a.txt", "a~2.txt", "a~3.txt", ...
/// Stores the progress of the search for each name, because a container can
/// have 100,000 taken names and need the next one 1,000 times. All searches
/// together try at most a small multiple of the existing names. A taken name
/// must stay taken.
class FreeNames {
 public:
  /// The names to try. `directory` distinguishes equal names in different
  /// directories.
  struct Series {
    uint64_t directory = 0;
    std::string_view name;  // a safe component (core/tree/safe_name.h)
    /// Text added to every name, such as "~file". If set, the text and the
    /// number come at the end, not before the extension.
    std::string_view mark = {};
    /// Whether the name without a number is known to be taken.
    bool first_is_taken = false;
  };

  /// The first name of `series` for which `taken` returns false.
  std::string Find(const Series& series,
                   const std::function<bool(const std::string&)>& taken);

  /// Number of names tried in all searches.
  uint64_t tried() const { return tried_; }

 private:
  /// The next number to try, by series. Searches that succeed within a few
  /// tries are not recorded, so that a million pairs of equal names take no
  /// memory.
  std::unordered_map<std::string, uint64_t> next_;
  uint64_t tried_ = 0;
};

}  // namespace ctxfs
