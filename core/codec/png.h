// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"

namespace ctxfs {

/// The pixel format of an array as a picture: rows from the top, pixels from
/// the left, channels interleaved.
struct Picture {
  uint32_t width = 0;     // pixels, from 1 to limits::kPictureSide
  uint32_t height = 0;    // pixels, from 1 to limits::kPictureSide
  unsigned channels = 1;  // 1 grey, 3 RGB, 4 RGBA
  unsigned depth = 8;     // bits of a channel: 8, or 16 little-endian

  uint64_t row_size() const { return uint64_t{width} * channels * (depth / 8); }
  uint64_t size() const { return height * row_size(); }
};

/// Returns the size in bytes of a picture as a PNG. The pixels are not
/// compressed: a picture of limits::kPictureBytes becomes less than 1 % larger.
uint64_t PngSize(const Picture& picture);

/// Returns `pixels` as a PNG of PngSize bytes. `pixels` must have exactly
/// picture.size() bytes. Lossless and deterministic. Fails only with
/// kInterrupted.
Result<Buffer> EncodePng(const Picture& picture, Bytes pixels,
                         const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs
