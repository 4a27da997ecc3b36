// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/container/elements.h"
#include "core/container/entry.h"

namespace ctxfs {

/// Counts of a container's entries, computed from the index alone.
struct ContainerSummary {
  struct Dtype {
    uint64_t arrays = 0;
    uint64_t elements = 0;
    uint64_t bytes = 0;  // decoded
  };
  struct Array {
    std::string name;  // as stored
    std::string dtype;
    std::vector<uint64_t> shape;
    uint64_t bytes = 0;  // decoded
  };

  uint64_t entries = 0;
  uint64_t decoded_bytes = 0;
  uint64_t stored_bytes = 0;
  uint64_t arrays = 0;
  uint64_t elements = 0;    // of all arrays; at most UINT64_MAX
  bool all_tensors = true;  // every array is of the kind "tensor"
  std::map<std::string, Dtype> dtypes;
  std::map<std::string, uint64_t> codecs;  // entries by codec
  /// Entries by the algorithm of their checksum; "each part": each part of the
  /// entry has a checksum of its own; "none": no checksum.
  std::map<std::string, uint64_t> checksums;
  std::vector<Array> largest;  // arrays, descending, at most kLargest

  static constexpr size_t kLargest = 5;
  /// Further dtypes are merged as "(other)". Only hostile containers have so
  /// many.
  static constexpr size_t kMaxDtypes = 100;

  static ContainerSummary Of(const Container& container);

  void Add(const EntryInfo& info);
};

}  // namespace ctxfs
