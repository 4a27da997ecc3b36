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

  // It reads blocks: none of those may ever wait for it to be done.
  uint64_t cost() const override { return 0; }
  Status CheckUnchanged() const override { return source_->CheckUnchanged(); }

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

NumberedFiles Frames(std::shared_ptr<const Container> container,
                     std::shared_ptr<const std::vector<ArrayInfo>> arrays,
                     size_t index, Picture picture) {
  const ArrayInfo& array = (*arrays)[index];
  NumberedFiles files;
  files.path = "frames/" + array.name;
  files.count = static_cast<uint32_t>(array.shape[0]);
  files.suffix = ".png";
  files.open = [container = std::move(container), arrays = std::move(arrays),
                index, picture, owner = NewOwner()](
                   uint32_t frame,
                   const ReadContext& context) -> Result<Content> {
    const Result<Content> all = (*arrays)[index].open(context);
    if (!all) return all.error();
    auto block = std::make_shared<const FrameBlock>(
        Key{owner, frame}, container->source(), picture,
        all->Slice(frame * picture.size(), picture.size()));
    const Result<BlockCache::Pinned> made = context.Get(*block);
    if (!made) return made.error();
    Content content;
    content.Append(Decoded{std::move(block), 0}, (*made)->size());
    return content;
  };
  return files;
}

void Make(const Viewed& viewed, ViewFiles& into) {
  for (size_t i = 0; i < viewed.arrays->size(); ++i) {
    if (const auto picture = PictureOf((*viewed.arrays)[i])) {
      into.numbered.push_back(
          Frames(viewed.container, viewed.arrays, i, *picture));
    }
  }
}

}  // namespace

extern const View kFramesView;
const View kFramesView{"frames", &MayHaveArrays, &Make};

}  // namespace ctxfs
