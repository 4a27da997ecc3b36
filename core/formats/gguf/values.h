// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/content/content.h"
#include "core/formats/gguf/dequant.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// Returns the values of `blocks` blocks at `offset` as little-endian float32.
/// All blocks must be within the source. Reading a window converts only its
/// blocks. `big_endian`: the fields of blocks are big-endian; the type must
/// define this byte order.
Content GgufValues(std::shared_ptr<const Source> source, uint64_t offset,
                   const GgufType& type, uint64_t blocks, bool big_endian);

}  // namespace ctxfs::gguf
