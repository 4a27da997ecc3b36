// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/codec/png.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The pictures of an array of `picture`s (PictureOf), at most 12, spread
/// evenly from the first to the last: {"name", "dtype", "shape", "count",
/// "width", "height", "pictures": [{"number", "png"}]}. A png is base64 of at
/// most 96 pixels a side, grey, RGB or RGBA of 8 bits. Values of 16 bits are
/// scaled so that the least of the picture is 0 and the greatest 255. A picture
/// that cannot be read has an "error" instead.
Result<Json> ContactSheet(const ArrayInfo& array, const Picture& picture,
                          const ReadContext& context);

/// Bytes of the pictures that a contact sheet of the array reads.
uint64_t ContactSheetBytes(const ArrayInfo& array, const Picture& picture);

/// Returns `pixels`, a picture of `from`, as 8-bit pixels of a picture of at
/// most `side` pixels a side, and sets `to` to its format. A pixel is the mean
/// of the pixels that it replaces.
Buffer Shrink(const Picture& from, Bytes pixels, uint32_t side, Picture& to);

}  // namespace ctxfs
