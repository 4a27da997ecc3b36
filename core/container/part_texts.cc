// SPDX-License-Identifier: Apache-2.0
#include "core/container/part_texts.h"

#include <fmt/core.h>

#include <atomic>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/content/read_context.h"

namespace ctxfs {
namespace {

using Texts = std::shared_ptr<const PartTexts>;

/// The texts of parts [first, end).
class PartsBlock final : public Block {
 public:
  /// `size` is the size that an earlier block of these parts had; 0: unknown.
  PartsBlock(Key key, Texts texts, uint32_t first, uint32_t end, uint64_t size)
      : Block(key),
        texts_(std::move(texts)),
        first_(first),
        end_(end),
        size_(size) {}

  uint64_t cost() const override {
    uint64_t bytes = 0;
    for (uint32_t i = first_; i < end_; ++i) bytes += texts_->bytes(i);
    return 2 * bytes;  // an estimate; the size is not known yet
  }
  const Source* made_from() const override { return texts_->source.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    std::string text;
    for (uint32_t i = first_; i < end_; ++i) {
      CTXFS_TRY(context.Check());
      const std::string more = CTXFS_TRY(texts_->text(i, context));
      if (more.size() > limits::kDecodedBytes - text.size()) {
        return Error{Code::kLimit,
                     fmt::format("{}s of more than {} bytes", texts_->noun,
                                 limits::kDecodedBytes)};
      }
      CTXFS_TRY(AppendAdmitted(text, more));
    }
    if (size_ != 0 && text.size() != size_) {
      return Error{Code::kCorrupt,
                   fmt::format("a {} has been damaged since the size of the "
                               "file was measured",
                               texts_->noun)};
    }
    return BufferOf(text);
  }

 private:
  Texts texts_;
  uint32_t first_;
  uint32_t end_;
  uint64_t size_;
};

class Joined {
 public:
  Joined(Texts texts, std::vector<uint32_t> starts)
      : texts_(std::move(texts)),
        starts_(std::move(starts)),
        sizes_(starts_.empty() ? 0 : starts_.size() - 1) {}

  Result<Content> Open(const ReadContext& context) const {
    Content content;
    for (size_t k = 0; k < sizes_.size(); ++k) {
      CTXFS_TRY(context.Check());
      const auto block = [&](uint64_t size) {
        return std::make_shared<const PartsBlock>(
            Key{owner_, k}, texts_, starts_[k], starts_[k + 1], size);
      };
      uint64_t size = sizes_[k].load(std::memory_order_relaxed);
      if (size == 0) {
        const BlockCache::Pinned made = CTXFS_TRY(context.Get(*block(0)));
        size = made->size();
        sizes_[k].store(size, std::memory_order_relaxed);
      }
      content.Append(Decoded{block(size), 0}, size);
    }
    return content;
  }

 private:
  Texts texts_;
  std::vector<uint32_t> starts_;
  mutable std::vector<std::atomic<uint64_t>> sizes_;  // of blocks; 0: unknown
  const uint64_t owner_ = NewOwner();
};

}  // namespace

Result<Content> PartText(Texts texts, Key key, uint32_t part,
                         const ReadContext& context) {
  auto block = std::make_shared<const PartsBlock>(key, std::move(texts), part,
                                                  part + 1, 0);
  const BlockCache::Pinned made = CTXFS_TRY(context.Get(*block));
  return Content(Decoded{std::move(block), 0}, made->size());
}

std::shared_ptr<const FileTable> JoinedTexts(Role role, std::string path,
                                             Texts texts,
                                             std::vector<uint32_t> starts) {
  return OpenedFile(
      role, std::move(path),
      [joined =
           std::make_shared<const Joined>(std::move(texts), std::move(starts))](
          const ReadContext& context) { return joined->Open(context); });
}

}  // namespace ctxfs
