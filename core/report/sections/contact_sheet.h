// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/codec/png.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// At most 12 pictures of an array (PictureOf), evenly spread from first to
/// last: {"name", "dtype", "shape", "count", "width", "height", "pictures":
/// [{"number", "png"}]}. A png is base64, at most 96 pixels a side, 8-bit grey,
/// RGB or RGBA. 16-bit values are scaled so that the picture's minimum is 0 and
/// its maximum 255. A picture that cannot be read has an "error" instead.
Result<Json> ContactSheet(const ArrayInfo& array, const Picture& picture,
                          const ReadContext& context);

uint64_t ContactSheetBytes(const ArrayInfo& array, const Picture& picture);

/// Scales `pixels`, a picture of the format `from`, to 8-bit pixels, at most
/// `side` a side, and sets `to` to the new format. Each pixel is the mean of
/// the pixels that it replaces.
Buffer Shrink(const Picture& from, Bytes pixels, uint32_t side, Picture& to);

}  // namespace ctxfs
