// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ctxfs {

/// A set of errors that may have caused others. A missing file, for example,
/// makes each tensor in it fail. The tensor's error repeats the text of the
/// file's error after a prefix (Within).
class Causes {
 public:
  void Add(const Error& error) { reasons_.insert(error.what); }

  /// Whether `error` repeats the text of an added error after a prefix that
  /// ends in ": ".
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
