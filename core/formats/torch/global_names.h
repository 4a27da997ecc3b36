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

/// A hash with a random seed, so that no pickle can contain names that collide
/// on purpose.
class NameHash {
 public:
  using is_transparent = void;

  size_t operator()(std::string_view name) const noexcept {
    return XXH3_64bits_withSeed(name.data(), name.size(), seed_);
  }

 private:
  uint64_t seed_ = RandomSeed();
};

/// A set of hashes in one array: allocating a node for each of a million names
/// would take longer than reading them.
class HashSet {
 public:
  /// Adds a hash. Returns whether the set already had it. Fails if there is no
  /// memory.
  Result<bool> Insert(uint64_t hash);
  size_t size() const { return size_; }

 private:
  Status Grow();
  /// Returns the slot of a hash, or the free slot where it belongs.
  uint64_t& Slot(uint64_t hash);

  std::vector<uint64_t> slots_;  // 0: free; at least half are free
  size_t size_ = 0;
};

/// The functions and classes that pickles name, and that loading them would
/// import. Memory is bounded for any number of names.
class GlobalNames {
 public:
  struct Listed {
    std::string name;
    bool safe;  // docs/formats/torch.md, section 12
  };

  /// Adds a name, "module.name". Fails if there is no memory.
  Status Add(std::string_view name);
  /// Records that names may be missing, and the reason.
  void SetIncomplete(std::string why);

  bool complete() const { return gap_.empty(); }
  /// The first reason for missing names; empty if the names are complete.
  const std::string& gap() const { return gap_; }

  /// Returns at most kMaxGlobals names: those of unknown_, then of script_,
  /// then of known_, each sorted. So unsafe names precede safe ones. A name
  /// longer than kMaxListedName is truncated, and states its full length.
  /// `script`: whether classes of the archive's own code are safe.
  std::vector<Listed> List(bool script) const;

  // The number of distinct names, listed or not. Beyond kMaxGlobals +
  // kMaxCounted names of a kind, no more of this kind are counted. Long names
  // whose truncated form is in the list already count as one.
  uint64_t Count() const;
  uint64_t CountUnsafe(bool script) const;

 private:
  /// Names of one kind.
  struct Kind {
    std::unordered_set<std::string, NameHash, std::equal_to<>> listed;
    HashSet met;  // hashes of all names, listed or not
  };
  static Status AddTo(Kind& kind, std::string_view name);

  // Each kind has its own limits, so that no kind displaces another.
  Kind unknown_;
  Kind script_;  // classes of TorchScript, in "__torch__."
  Kind known_;   // names that IsKnownName accepts
  std::string gap_;
};

/// Names that are safe in addition to docs/formats/torch.md, section 12.
struct SafeNames {
  bool script = false;  // classes of the archive's own code
  bool (*known)(std::string_view name) = nullptr;
};

/// Adds to `info`, which AddInfo fills, the list of names, the number of unsafe
/// names, whether the list is complete, and a warning if there are unsafe
/// names.
void DescribeGlobals(const GlobalNames& names, const SafeNames& safe,
                     Json& info);
/// Adds the list of names in `info` to `facts`.
void AddGlobalFacts(const Json& info, Facts& facts);

}  // namespace ctxfs::torch
