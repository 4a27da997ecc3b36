// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs::torch {

/// The functions and classes that pickles name, which loading them would
/// import. However many there are, memory is bounded.
class GlobalNames {
 public:
  struct Listed {
    std::string name;
    bool safe;  // docs/torch.md, section 12
  };

  /// Adds a name, "module.name".
  void Add(std::string_view name);
  /// Notes that there may be names that were not added, and why.
  void SetIncomplete(std::string why);

  bool complete() const { return gap_.empty(); }
  /// Why it is not complete, the first reason; empty if it is.
  const std::string& gap() const { return gap_; }

  /// At most kMostGlobals names: all that are not safe before all that are,
  /// sorted within each part. A name longer than kMostListedName is cut, and
  /// says so. `script`: classes of the archive's own code are safe.
  std::vector<Listed> List(bool script) const;

  // Numbers of different names, listed or not, exact up to kMostGlobals +
  // kMostCounted of each kind.
  uint64_t Count() const;
  uint64_t CountUnsafe(bool script) const;

 private:
  /// Names of one kind.
  struct Kind {
    std::set<std::string, std::less<>> listed;
    std::set<uint64_t> others;  // hashes of names that are not listed

    uint64_t Count() const { return listed.size() + others.size(); }
  };

  // Each kind has its own room, so that none pushes out another.
  Kind unknown_;
  Kind script_;  // "__torch__.", classes of TorchScript
  Kind known_;   // IsKnownName
  std::string gap_;
};

}  // namespace ctxfs::torch
