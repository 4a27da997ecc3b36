// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/container/container.h"
#include "core/views/view.h"

namespace ctxfs {

/// Arrays in one safetensors file: its header, and the order of their data.
struct SafetensorsLayout {
  /// The length in 8 bytes, then the JSON, padded with spaces so that data
  /// starts at a new page: a damaged array must not take the header with it.
  std::string header;
  /// By place in the file: wide elements first, so that all are aligned; those
  /// alike in the container's order.
  std::vector<uint32_t> order;
  uint64_t size = 0;  // of the file
};

/// Lays them out; nothing where the header would be longer than readers take.
/// `metadata` is an object: strings as they are, all else as JSON text. Names
/// become UTF-8, and those taken get ~2, ~3.
std::optional<SafetensorsLayout> LayOutSafetensors(
    const std::vector<ArrayInfo>& arrays, const Json& metadata);

/// A table of one file, at `path`, that holds all arrays; null if there are no
/// arrays. Reads the container's metadata.
std::shared_ptr<const FileTable> SafetensorsFile(const Viewed& viewed,
                                                 std::string path,
                                                 const ReadContext& context);

}  // namespace ctxfs
