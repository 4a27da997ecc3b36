// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ctxfs {

/// Errors that other errors repeat with the name of a part before them
/// (Within): a missing file fails with each tensor in it.
class Causes {
 public:
  void Add(const Error& error) { reasons_.insert(error.what); }

  /// Whether `error` only repeats one of the causes.
  bool Explain(const Error& error) const {
    const std::string_view what = error.what;
    for (size_t at = what.find(": "); at != std::string_view::npos;
         at = what.find(": ", at + 1)) {
      if (reasons_.contains(what.substr(at + 2))) return true;
    }
    return false;
  }

 private:
  std::set<std::string, std::less<>> reasons_;
};

}  // namespace ctxfs
