// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/container/file_table.h"
#include "core/content/content.h"
#include "core/formats/zarr/chunks.h"

namespace ctxfs::zarr {

/// The elements of an array in row-major order, little-endian. A window reads
/// only its chunks.
Content ArrayContent(std::shared_ptr<const ChunkReader> reader);

/// Returns a table of one file: the texts of an array as JSON lines, in
/// row-major order. Finding the file's size decodes all chunks.
std::shared_ptr<const FileTable> ArrayLines(
    std::shared_ptr<const ChunkReader> reader);

}  // namespace ctxfs::zarr
