// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// What follows the data of a member with flag bit 3 (docs/formats/zip.md,
/// section 10).
struct Descriptor {
  uint32_t crc = 0;
  uint64_t stored_size = 0;
  uint64_t size = 0;  // decoded
  uint64_t end = 0;   // first byte after it, in the file
};

/// Searches for the descriptor of a member whose data starts at byte `data`:
/// the first with a signature whose stored size is its distance from `data`.
/// nullopt if there is none. Reads up to the end of it, or of the file.
Result<std::optional<Descriptor>> FindDescriptor(const Source& source,
                                                 uint64_t data,
                                                 const ReadContext& context);

}  // namespace ctxfs::zip
