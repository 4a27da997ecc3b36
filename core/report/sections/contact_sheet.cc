// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/contact_sheet.h"

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "core/report/script_json.h"
#include "core/views/arrays/elements.h"

namespace ctxfs {
namespace {

constexpr uint64_t kPictures = 12;
constexpr uint32_t kSide = 96;

uint64_t Shown(const ArrayInfo& array) {
  return std::min(array.shape[0], kPictures);
}

/// The channels of a picture as 8-bit numbers.
class Channels {
 public:
  Channels(const Picture& picture, Bytes pixels)
      : picture_(picture), pixels_(pixels) {
    if (picture.depth == 8) return;
    least_ = UINT32_MAX;
    for (uint64_t i = 0; i < pixels.size() / 2; ++i) {
      least_ = std::min(least_, Stored(i));
      greatest_ = std::max(greatest_, Stored(i));
    }
  }

  uint32_t At(uint64_t index) const {
    if (picture_.depth == 8) return static_cast<uint32_t>(pixels_[index]);
    if (greatest_ <= least_) return 0;
    return (Stored(index) - least_) * 255 / (greatest_ - least_);
  }

 private:
  uint32_t Stored(uint64_t index) const {
    return LoadLe<uint16_t>(pixels_.data() + 2 * index);
  }

  const Picture& picture_;
  const Bytes pixels_;
  uint32_t least_ = 0;
  uint32_t greatest_ = 0;
};

/// One picture of the sheet.
Result<std::string> SmallPng(const Content& all, const Picture& picture,
                             uint64_t number, const ReadContext& context) {
  Buffer pixels(static_cast<size_t>(picture.size()));
  CTXFS_TRY(ReadInto(all, number * picture.size(), pixels.span(), context));
  Picture small;
  const Buffer shrunk = Shrink(picture, pixels.span(), kSide, small);
  const Buffer png = CTXFS_TRY(EncodePng(small, shrunk.span()));
  return Base64(AsText(png.span()));
}

}  // namespace

Buffer Shrink(const Picture& from, Bytes pixels, uint32_t side, Picture& to) {
  const uint32_t longest = std::max(from.width, from.height);
  const auto shrunk = [&](uint32_t length) {
    if (longest <= side) return length;
    return std::max<uint32_t>(
        1, static_cast<uint32_t>(uint64_t{length} * side / longest));
  };
  to = {.width = shrunk(from.width),
        .height = shrunk(from.height),
        .channels = from.channels,
        .depth = 8};
  const Channels channels(from, pixels);
  Buffer out(static_cast<size_t>(to.size()));
  std::byte* next = out.data();
  for (uint32_t y = 0; y < to.height; ++y) {
    const uint64_t top = uint64_t{y} * from.height / to.height;
    const uint64_t bottom = (uint64_t{y} + 1) * from.height / to.height;
    for (uint32_t x = 0; x < to.width; ++x) {
      const uint64_t left = uint64_t{x} * from.width / to.width;
      const uint64_t right = (uint64_t{x} + 1) * from.width / to.width;
      for (unsigned channel = 0; channel < from.channels; ++channel) {
        uint64_t sum = 0;
        uint64_t pixels_there = 0;
        for (uint64_t row = top; row < bottom; ++row) {
          for (uint64_t column = left; column < right; ++column) {
            sum += channels.At((row * from.width + column) * from.channels +
                               channel);
            ++pixels_there;
          }
        }
        *next++ =
            static_cast<std::byte>(sum / std::max<uint64_t>(1, pixels_there));
      }
    }
  }
  return out;
}

uint64_t ContactSheetBytes(const ArrayInfo& array, const Picture& picture) {
  return Shown(array) * picture.size();
}

Result<Json> ContactSheet(const ArrayInfo& array, const Picture& picture,
                          const ReadContext& context) {
  const Content all = CTXFS_TRY(OpenElements(array, context));
  const uint64_t count = array.shape[0];
  const uint64_t shown = Shown(array);
  Json pictures = Json::array();
  for (uint64_t i = 0; i < shown; ++i) {
    CTXFS_TRY(context.Check());
    // Cannot overflow: an array has fewer than 2^32 pictures (PictureOf).
    const uint64_t number = shown == 1 ? 0 : i * (count - 1) / (shown - 1);
    Json one = {{"number", number}};
    Result<std::string> png = SmallPng(all, picture, number, context);
    if (png) {
      one["png"] = *std::move(png);
    } else {
      one["error"] = png.error().Text();
    }
    pictures.push_back(std::move(one));
  }
  return Json{{"name", CutText(array.name, kArrayNameBytes)},
              {"dtype", DTypeName(array.dtype)},
              {"shape", array.shape},
              {"count", count},
              {"width", picture.width},
              {"height", picture.height},
              {"pictures", std::move(pictures)}};
}

}  // namespace ctxfs
