// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/content/content.h"
#include "core/formats/gguf/dequant.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// The values of `blocks` blocks at `offset`, all within the source, as
/// little-endian float32. Reading a window converts only its blocks.
/// `big_endian`: whether the fields of blocks are big-endian; the byte order of
/// the type must be defined then.
Content GgufValues(std::shared_ptr<const Source> source, uint64_t offset,
                   const GgufType& type, uint64_t blocks, bool big_endian);

}  // namespace ctxfs::gguf
