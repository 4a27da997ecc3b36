// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ctxfs {

/// Finds names that are not taken yet by numbering them: "a.txt", "a~2.txt",
/// "a~3.txt", ... Remembers how far the search for each name has got, so that
/// any number of searches together try at most a small multiple of the names
/// that exist: a container can hold 100,000 names that are taken and ask 1,000
/// times for the next one. A name that is taken must stay taken.
class FreeNames {
 public:
  /// Which names to try. `directory` tells equal names in different directories
  /// apart.
  struct Series {
    uint64_t directory = 0;
    std::string_view name;  // a safe component (core/tree/safe_name.h)
    /// Text added to every name, such as "~file". If set, it and the number
    /// come at the end, not before the extension.
    std::string_view mark = {};
    /// Whether the name without a number is known to be taken.
    bool first_is_taken = false;
  };

  /// The first name of `series` for which `taken` returns false.
  std::string Find(const Series& series,
                   const std::function<bool(const std::string&)>& taken);

  /// How many names all searches have tried.
  uint64_t tried() const { return tried_; }

 private:
  /// The next number to try, by series. Searches that end within a few tries
  /// leave nothing here: a million pairs of equal names take no memory.
  std::unordered_map<std::string, uint64_t> next_;
  uint64_t tried_ = 0;
};

}  // namespace ctxfs
