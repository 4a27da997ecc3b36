// SPDX-License-Identifier: Apache-2.0
#include "core/views/pictures/picture_of.h"

#include <limits>
#include <vector>

#include "core/base/limits.h"

namespace ctxfs {

std::optional<Picture> PictureOf(const ArrayInfo& array) {
  const std::vector<uint64_t>& shape = array.shape;
  const bool deep = array.dtype == DType::kU16;
  if (array.dtype != DType::kU8 && !deep) return std::nullopt;
  if (shape.size() != 3 && (shape.size() != 4 || deep)) return std::nullopt;
  if (shape[0] == 0 || shape[0] >= std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  Picture picture;
  if (shape.size() == 4) {
    if (shape[3] != 1 && shape[3] != 3 && shape[3] != 4) return std::nullopt;
    picture.channels = static_cast<unsigned>(shape[3]);
  }
  for (const uint64_t side : {shape[1], shape[2]}) {
    if (side == 0 || side > limits::kPictureSide) return std::nullopt;
  }
  picture.height = static_cast<uint32_t>(shape[1]);
  picture.width = static_cast<uint32_t>(shape[2]);
  picture.depth = deep ? 16 : 8;
  if (picture.size() > limits::kPictureBytes) return std::nullopt;
  return picture;
}

}  // namespace ctxfs
