// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json/json.h"
#include "core/views/view.h"

namespace ctxfs {

/// Header and data order of a safetensors file.
struct SafetensorsLayout {
  /// The 8-byte length and the JSON, padded with spaces so that data starts at
  /// a new page. The kernel reads whole pages, so in a shared page, a damaged
  /// array would make a part of the header unreadable.
  std::string header;
  /// Indices of the arrays in data order: wide elements first, so that all are
  /// aligned; arrays of equal width in the container's order.
  std::vector<uint32_t> order;
  uint64_t size = 0;  // bytes of the file
};

/// Lays out the arrays whose type safetensors has; leaves out the others.
/// Returns nullopt if the header would exceed limits::kSafetensorsHeaderBytes,
/// because readers reject such a file, or if memory is refused. `metadata` is
/// an object: its strings are written unchanged, other values as JSON text. If
/// it lacks "format", that is added. Names of arrays are those of UniqueNames.
std::optional<SafetensorsLayout> LayOutSafetensors(
    const std::vector<ArrayInfo>& arrays, Json metadata);

/// Adds a file at `path` with the arrays of `viewed` except widened ones
/// (ArrayInfo::widened); no file if there are none, or LayOutSafetensors fails.
/// Reads the container's metadata and descriptions; fails only with a transient
/// error of that.
Status AddSafetensorsFile(const Viewed& viewed, std::string path,
                          const ReadContext& context, ViewTables& into);

}  // namespace ctxfs
