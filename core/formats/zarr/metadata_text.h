// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/json/json.h"
#include "core/base/request.h"
#include "core/base/result.h"

namespace ctxfs::zarr {

/// A part of a text.
struct Part {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// A metadata file. Its attributes and its copy of the metadata of other nodes
/// may be long, so only their places are kept.
struct MetadataText {
  Json root;  // an object, without these two
  std::optional<Part> attributes;
  std::optional<Part> consolidated;
};

/// Parses a metadata file, as Python's json module does. Fails with kCorrupt
/// (offset: byte within `text`) and with kLimit.
Result<MetadataText> ReadMetadata(std::string_view text,
                                  const Request& request);

}  // namespace ctxfs::zarr
