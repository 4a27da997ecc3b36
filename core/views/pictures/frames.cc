// SPDX-License-Identifier: Apache-2.0
//
// Arrays of pictures as PNG files (docs/views.md, section 6).
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "core/codec/png.h"
#include "core/content/block.h"
#include "core/views/pictures/picture_of.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

class FrameBlock final : public Block {
 public:
  FrameBlock(Key key, std::shared_ptr<const Source> source, Picture picture,
             Content pixels)
      : Block(key),
        source_(std::move(source)),
        picture_(picture),
        pixels_(std::move(pixels)) {}

  // The pixels and the PNG. The blocks that the pixels are read from have a
  // cost of their own.
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
  const Arrays arrays_;
  const ArrayInfo& array_;
  const Picture picture_;
  const uint64_t owner_ = NewOwner();
};

void MakeFrames(const Viewed& viewed, const ReadContext& /*context*/,
                ViewTables& into) {
  for (size_t i = 0; i < viewed.arrays->size(); ++i) {
    if (const auto picture = PictureOf((*viewed.arrays)[i])) {
      into.push_back(std::make_shared<const Frames>(viewed, i, *picture));
    }
  }
}

}  // namespace

extern const View kFramesView;
const View kFramesView{"frames", &MayHaveArrays, &MakeFrames};

}  // namespace ctxfs
