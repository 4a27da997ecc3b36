// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/codec/png.h"
#include "core/container/exports.h"

namespace ctxfs {

/// Returns the picture format of an array: u8 [T,H,W], u8 [T,H,W,C] with C of
/// 1, 3 or 4, or u16 [T,H,W]; T is 1 to 2^32 - 2. Returns nullopt for other
/// arrays, and for pictures beyond limits::kPictureSide or kPictureBytes.
std::optional<Picture> PictureOf(const ArrayInfo& array);

}  // namespace ctxfs
