// SPDX-License-Identifier: Apache-2.0
#include "core/container/made_file.h"

#include <cstring>

namespace ctxfs {
namespace {

class TextBlock final : public Block {
 public:
  TextBlock(Key key, std::shared_ptr<const Source> source, MakeText make)
      : Block(key), source_(std::move(source)), make_(std::move(make)) {}

  uint64_t cost() const override { return 0; }  // not known before it is made
  Status CheckUnchanged() const override { return source_->CheckUnchanged(); }

  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    const Result<std::string> text = make_();
    if (!text) return text.error();
    Buffer buffer(text->size());
    if (!text->empty()) std::memcpy(buffer.data(), text->data(), text->size());
    return buffer;
  }

 private:
  std::shared_ptr<const Source> source_;
  MakeText make_;
};

}  // namespace

OwnFile MadeFile(std::string path, Key key,
                 std::shared_ptr<const Source> source, MakeText make) {
  auto block = std::make_shared<const TextBlock>(key, std::move(source),
                                                 std::move(make));
  OwnFile file;
  file.path = std::move(path);
  file.open = [block](const ReadContext& context) -> Result<Content> {
    const Result<BlockCache::Pinned> text = context.Get(*block);
    if (!text) return text.error();
    Content content;
    content.Append(Decoded{block, 0}, (*text)->size());
    return content;
  };
  return file;
}

OwnFile RefusedFile(std::string path, Error why) {
  OwnFile file;
  file.path = std::move(path);
  file.size = 0;
  file.open = [why = std::move(why)](
                  const ReadContext& /*context*/) -> Result<Content> {
    return why;
  };
  return file;
}

}  // namespace ctxfs
