// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/codec/png.h"
#include "core/container/exports.h"

namespace ctxfs {

/// The picture that each [i] of an array is: u8 [T,H,W] and [T,H,W,1], [.,3],
/// [.,4], and u16 [T,H,W], T from 1 to 2^32 - 2. Nothing for any other array,
/// and if a picture exceeds limits::kPictureSide or kPictureBytes.
std::optional<Picture> PictureOf(const ArrayInfo& array);

}  // namespace ctxfs
