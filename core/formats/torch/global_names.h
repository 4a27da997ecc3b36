// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/base/seed.h"
#include "core/container/facts/facts.h"

namespace ctxfs::torch {

/// Has a random seed: no pickle can choose names that make a table slow.
class NameHash {
 public:
  using is_transparent = void;

  size_t operator()(std::string_view name) const noexcept {
    return XXH3_64bits_withSeed(name.data(), name.size(), seed_);
  }

 private:
  uint64_t seed_ = RandomSeed();
};

/// A set of hashes in one piece of memory: a node for each of a million names
/// would cost more time than reading them.
class HashSet {
 public:
  /// Whether the set has a hash, and adds it. Fails if there is no memory.
  Result<bool> Insert(uint64_t hash);
  size_t size() const { return size_; }

 private:
  Status Grow();
  /// Where a hash is, or the free slot where it belongs.
  uint64_t& Slot(uint64_t hash);

  std::vector<uint64_t> slots_;  // 0: free; at least half of them are
  size_t size_ = 0;
};

/// The functions and classes that pickles name, which loading them would
/// import. However many there are, memory is bounded.
class GlobalNames {
 public:
  struct Listed {
    std::string name;
    bool safe;  // docs/formats/torch.md, section 12
  };

  /// Adds a name, "module.name". Fails if there is no memory.
  Status Add(std::string_view name);
  /// Notes that there may be names that were not added, and why.
  void SetIncomplete(std::string why);

  bool complete() const { return gap_.empty(); }
  /// Why it is not complete, the first reason; empty if it is.
  const std::string& gap() const { return gap_; }

  /// At most kMaxGlobals names: all that are not safe before all that are,
  /// sorted within each part. A name longer than kMaxListedName is cut, and
  /// says so. `script`: classes of the archive's own code are safe.
  std::vector<Listed> List(bool script) const;

  // Numbers of different names, listed or not, exact up to kMaxGlobals +
  // kMaxCounted of each kind.
  uint64_t Count() const;
  uint64_t CountUnsafe(bool script) const;

 private:
  /// Names of one kind.
  struct Kind {
    std::unordered_set<std::string, NameHash, std::equal_to<>> listed;
    HashSet met;  // listed or not, by their hashes
  };
  static Status AddTo(Kind& kind, std::string_view name);

  // Each kind has its own room, so that none pushes out another.
  Kind unknown_;
  Kind script_;  // "__torch__.", classes of TorchScript
  Kind known_;   // IsKnownName
  std::string gap_;
};

/// Which names are safe besides those of docs/formats/torch.md, section 12.
struct SafeNames {
  bool script = false;  // classes of the archive's own code
  bool (*known)(std::string_view name) = nullptr;
};

/// Adds the list of names to what Container::Info returns.
void DescribeGlobals(const GlobalNames& names, const SafeNames& safe,
                     Json& info);
/// Adds the same of `info` to the facts.
void AddGlobalFacts(const Json& info, Facts& facts);

}  // namespace ctxfs::torch
