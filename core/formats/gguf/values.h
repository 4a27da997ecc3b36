// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/content/content.h"
#include "core/formats/gguf/dequant.h"
#include "core/io/source.h"

namespace ctxfs {

/// The values of `blocks` blocks at `offset`, which lie within the source, as
/// float32, little-endian. A window costs the blocks under it. `big_endian`:
/// whether the fields of blocks are; the type must define their byte order.
Content GgufValues(std::shared_ptr<const Source> source, uint64_t offset,
                   const GgufQuant& quant, uint64_t blocks, bool big_endian);

/// `size` bytes of big-endian elements of `width` bytes each, as little-endian.
Content GgufSwapped(std::shared_ptr<const Source> source, uint64_t offset,
                    uint64_t size, uint32_t width);

}  // namespace ctxfs
