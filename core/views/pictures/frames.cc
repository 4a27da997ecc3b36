// SPDX-License-Identifier: Apache-2.0
//
// Shows arrays of pictures as PNG files (docs/views.md, section 6).
#include <memory>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/codec/png.h"
#include "core/container/file_set.h"
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

  // The blocks that pixels are read from have their own cost.
  uint64_t cost() const override { return picture_.size() + PngSize(picture_); }
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Buffer pixels(static_cast<size_t>(picture_.size()));
    CTXFS_TRY(ReadInto(pixels_, 0, pixels.span(), context));
    return EncodePng(picture_, pixels.span(), context.interrupt());
  }

 private:
  std::shared_ptr<const Source> source_;
  Picture picture_;
  Content pixels_;
};

/// Returns frames/NAME/NUMBER.png for one array.
std::shared_ptr<const FileTable> Frames(const Viewed& viewed,
                                        const ArrayInfo& array,
                                        const Picture& picture) {
  return MakeTable(
      {.placement = {.directory = "frames/" + array.name,
                     .numbering = Numbering{.suffix = ".png"}},
       .count = static_cast<uint32_t>(array.shape[0]),
       .path = &NoPath,
       .open = [source = viewed.container->source(), &array, picture,
                owner = NewOwner()](uint32_t frame, const ReadContext& context)
           -> Result<Content> {
         const Content all = CTXFS_TRY(array.open(context));
         return Content(
             Decoded{std::make_shared<const FrameBlock>(
                         Key{owner, frame}, source, picture,
                         all.Slice(frame * picture.size(), picture.size())),
                     0},
             PngSize(picture));
       },
       .facts = [picture](
                    uint32_t /*frame*/) { return FileFacts{PngSize(picture)}; },
       .owner = viewed.arrays});
}

Status MakeFrames(const Viewed& viewed, const ReadContext& /*context*/,
                  ViewTables& into) {
  for (const ArrayInfo& array : *viewed.arrays) {
    // If memory is refused, the caller discards the views, as after an
    // interrupt.
    if (!HeapAllowance::Check()) return {};
    if (const auto picture = PictureOf(array)) {
      into.push_back(Frames(viewed, array, *picture));
    }
  }
  return {};
}

}  // namespace

extern const View kFramesView;
const View kFramesView{"frames", &MayHaveArrays, &MakeFrames};

}  // namespace ctxfs
