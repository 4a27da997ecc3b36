// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "core/container/container.h"
#include "core/io/source.h"

namespace ctxfs {

/// Counts the entries of several containers once each, although two containers
/// may show the entries of the same file: a shard of a model is a container
/// itself, and the container of the whole model has the shard's tensors, too.
/// Stores the device and inode of each file.
class CountedOnce {
 public:
  /// Sums over a part of a container. They saturate at UINT64_MAX.
  struct Sums {
    uint64_t entries = 0;
    uint64_t elements = 0;  // of arrays
    uint64_t decoded_bytes = 0;
    uint64_t stored_bytes = 0;  // of whole files

    bool operator==(const Sums&) const = default;
  };

  /// Returns the sums over those files of `container` that containers added
  /// before have, too, and records its files. Reads only the index.
  Sums Add(const Container& container);

 private:
  using File = std::pair<uint64_t, uint64_t>;  // device and inode

  std::set<File> files_;
};

}  // namespace ctxfs
