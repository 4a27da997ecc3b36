// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json/json.h"

namespace ctxfs {

/// Returns the group of an entry, such as a layer of a model: the part of its
/// name up to the first number between dots and slashes ("model.layers.3" of
/// "model.layers.3.mlp.weight"), else all but the last component ("signal" of
/// "signal/rgb"). A name of one component is its own group.
std::string_view LayerOf(std::string_view name);

/// Returns the module of an entry, which is the same in all layers: all but the
/// last component of its name, with a star for each number
/// ("model.layers.*.mlp" of "model.layers.3.mlp.weight"). A name of one
/// component is its own module.
std::string ModuleOf(std::string_view name);

/// The entries with one layer or module.
struct SizeGroup {
  std::string name;
  uint64_t bytes = 0;     // decoded
  uint64_t elements = 0;  // of arrays
  uint64_t entries = 0;
};

/// Sums entries by group. Keeps at most 10,000 groups with names of at most 200
/// bytes; the rest is "(other)".
class SizeGroups {
 public:
  void Add(std::string_view group, uint64_t bytes, uint64_t elements);

  /// The `most` largest groups, in the order of their first entries, then
  /// "(other)" for the rest.
  std::vector<SizeGroup> Largest(size_t most) const;

 private:
  struct Counted {
    size_t order = 0;
    uint64_t bytes = 0;
    uint64_t elements = 0;
    uint64_t entries = 0;

    void Add(const Counted& more);
  };

  std::map<std::string, Counted, std::less<>> groups_;
  Counted other_;  // entries beyond the maximum of groups
};

/// Bytes of the entries of each layer.
class LayerSizes {
 public:
  /// Counts an entry of `bytes` decoded bytes.
  void Add(std::string_view name, uint64_t bytes) {
    groups_.Add(LayerOf(name), bytes, 0);
  }

  /// [[layer, bytes, entries]] of SizeGroups::Largest.
  Json Largest(size_t most) const;

 private:
  SizeGroups groups_;
};

}  // namespace ctxfs
