// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// A data descriptor: follows the data of a member with flag bit 3
/// (docs/formats/zip.md, section 10).
struct Descriptor {
  uint32_t crc = 0;
  uint64_t stored_size = 0;
  uint64_t size = 0;  // decoded
  uint64_t end = 0;   // first byte after it; byte of the file
};

/// Finds the descriptor of a member whose data starts at byte `data`: the first
/// with a signature and with its distance from `data` as stored size. Reads up
/// to its end; if there is none, reads the rest of the file and returns
/// nullopt.
Result<std::optional<Descriptor>> FindDescriptor(const Source& source,
                                                 uint64_t data,
                                                 const ReadContext& context);

}  // namespace ctxfs::zip
