// SPDX-License-Identifier: Apache-2.0
//
// Arrays of pictures as PNG files (docs/views.md, section 6).
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/limits.h"
#include "core/codec/png.h"
#include "core/content/block.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

/// The picture that each [i] of an array is: u8 [T,H,W] and [T,H,W,1], [.,3],
/// [.,4], and u16 [T,H,W]. Nothing for any other array.
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

class FrameBlock final : public Block {
 public:
  FrameBlock(Key key, std::shared_ptr<const Source> source, Picture picture,
             Content pixels)
      : Block(key),
        source_(std::move(source)),
        picture_(picture),
        pixels_(std::move(pixels)) {}

  // The pixels, and the file; blocks that hold the pixels count for themselves.
  uint64_t cost() const override { return picture_.size() + PngSize(picture_); }
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Buffer pixels(static_cast<size_t>(picture_.size()));
    if (Status read = ReadInto(pixels_, 0, pixels.span(), context); !read) {
      return std::move(read).error();
    }
    return EncodePng(picture_, pixels.span(), context.interrupt());
  }

 private:
  std::shared_ptr<const Source> source_;
  Picture picture_;
  Content pixels_;
};

/// frames/NAME/NUMBER.png of one array.
class Frames final : public FileTable {
 public:
  Frames(const Viewed& viewed, size_t index, Picture picture)
      : FileTable({.directory = "frames/" + (*viewed.arrays)[index].name,
                   .numbering = Numbering{.suffix = ".png"}}),
        source_(viewed.container->source()),
        arrays_(viewed.arrays),
        array_((*arrays_)[index]),
        picture_(picture) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(array_.shape[0]);
  }
  std::optional<std::string_view> Path(
      uint32_t /*frame*/, std::string& /*scratch*/) const override {
    return std::nullopt;
  }
  std::optional<uint64_t> KnownSize(uint32_t /*frame*/) const override {
    return PngSize(picture_);
  }
  Result<Content> Open(uint32_t frame,
                       const ReadContext& context) const override {
    const Result<Content> all = array_.open(context);
    if (!all) return all.error();
    return Content(
        Decoded{std::make_shared<const FrameBlock>(
                    Key{owner_, frame}, source_, picture_,
                    all->Slice(frame * picture_.size(), picture_.size())),
                0},
        PngSize(picture_));
  }

 private:
  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const std::vector<ArrayInfo>> arrays_;
  const ArrayInfo& array_;
  const Picture picture_;
  const uint64_t owner_ = NewOwner();
};

void Make(const Viewed& viewed, const ReadContext& /*context*/,
          ViewTables& into) {
  for (size_t i = 0; i < viewed.arrays->size(); ++i) {
    if (const auto picture = PictureOf((*viewed.arrays)[i])) {
      into.push_back(std::make_shared<const Frames>(viewed, i, *picture));
    }
  }
}

}  // namespace

extern const View kFramesView;
const View kFramesView{"frames", &MayHaveArrays, &Make};

}  // namespace ctxfs
