// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/bytes.h"
#include "core/base/json.h"
#include "core/base/result.h"
#include "core/codec/png.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The pictures of an array of `picture`s (PictureOf), at most 12, spread
/// evenly from the first to the last: {"name", "dtype", "shape", "count",
/// "width", "height", "pictures": [{"number", "png"}]}. A png is base64 of at
/// most 96 pixels a side, grey, RGB or RGBA of 8 bits; numbers of 16 bits are
/// spread from the least to the greatest of the picture. A picture that cannot
/// be read has an "error" instead.
Result<Json> ContactSheet(const ArrayInfo& array, const Picture& picture,
                          const ReadContext& context);

/// Bytes of the pictures that a contact sheet of the array reads.
uint64_t ContactSheetBytes(const ArrayInfo& array, const Picture& picture);

/// Returns `pixels`, a picture of `from`, as 8-bit pixels of a picture of at
/// most `side` pixels a side, and sets `to` to it. A pixel is the mean of those
/// that it stands for.
Buffer Shrink(const Picture& from, Bytes pixels, uint32_t side, Picture& to);

}  // namespace ctxfs
