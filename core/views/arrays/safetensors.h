// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json/json.h"
#include "core/views/view.h"

namespace ctxfs {

/// Arrays in one safetensors file: its header, and the order of their data.
struct SafetensorsLayout {
  /// The length in 8 bytes, then the JSON, padded with spaces so that data
  /// starts at a new page: a damaged array must not take the header with it.
  std::string header;
  /// Indices of the arrays in the order of their data: wide elements first, so
  /// that all are aligned; arrays of one width in the container's order.
  std::vector<uint32_t> order;
  uint64_t size = 0;  // of the file
};

/// Lays out arrays whose type safetensors has; leaves out the others. Returns
/// nullopt if the header would exceed limits::kSafetensorsHeaderBytes, because
/// readers refuse such a file. `metadata` is an object: its strings are written
/// unchanged, other values as JSON text. In names, bytes that are not UTF-8
/// become U+FFFD, and a name that is taken gets ~2, ~3.
std::optional<SafetensorsLayout> LayOutSafetensors(
    const std::vector<ArrayInfo>& arrays, Json metadata);

/// A table of one file, at `path`, that holds all arrays; null if there are no
/// arrays. Reads the container's metadata.
std::shared_ptr<const FileTable> SafetensorsFile(const Viewed& viewed,
                                                 std::string path,
                                                 const ReadContext& context);

}  // namespace ctxfs
