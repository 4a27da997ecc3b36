// SPDX-License-Identifier: Apache-2.0
//
// Samples as JSON (docs/formats/sampleshard.md, section 5): views/json/ and
// views/samples.jsonl. The size of a text is known only after it was made.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/formats/sample_shard/sample_shard.h"

namespace ctxfs::sample_shard {
namespace {

// Samples of samples.jsonl that are decoded together.
constexpr size_t kSamplesABlock = 256;

/// Samples as JSON: the text of one, or the lines of several.
class SampleBlock final : public Block {
 public:
  using Write = Result<std::string> (SampleShard::*)(uint32_t,
                                                     const ReadContext&) const;

  /// `size` is that of the block when it was made before; 0 the first time.
  SampleBlock(Key key, std::shared_ptr<const SampleShard> shard, Write write,
              std::vector<uint32_t> samples, uint64_t size = 0)
      : Block(key),
        shard_(std::move(shard)),
        write_(write),
        samples_(std::move(samples)),
        size_(size) {}

  uint64_t cost() const override {
    uint64_t bytes = 0;
    for (const uint32_t sample : samples_) bytes += shard_->EntrySize(sample);
    return 2 * bytes;  // an estimate: the size is known only afterwards
  }

  const Source* made_from() const override { return shard_->source().get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    std::string text;
    for (const uint32_t sample : samples_) {
      CTXFS_TRY(context.Check());
      const std::string more = CTXFS_TRY(((*shard_).*write_)(sample, context));
      if (more.size() > limits::kDecodedBytes - text.size()) {
        return Error{Code::kLimit,
                     fmt::format("samples of more than {} bytes of JSON",
                                 limits::kDecodedBytes)};
      }
      CTXFS_TRY(AppendAdmitted(text, more));
    }
    if (size_ != 0 && text.size() != size_) {
      return Error{Code::kCorrupt,
                   "a sample has been damaged since the size of "
                   "the file was measured"};
    }
    Buffer made(text.size());
    if (!text.empty()) std::memcpy(made.data(), text.data(), text.size());
    return made;
  }

 private:
  std::shared_ptr<const SampleShard> shard_;
  Write write_;
  std::vector<uint32_t> samples_;
  uint64_t size_;
};

/// views/json/NAME.json: each sample.
std::shared_ptr<const FileTable> JsonFiles(
    const std::shared_ptr<const SampleShard>& shard) {
  // The README of the reference has names such as sample/000007, which its code
  // ignores.
  const auto may_have = [shard](uint32_t entry) {
    const std::string_view name = shard->EntryName(entry).value_or("");
    return shard->IsSample(entry) ||
           (name.starts_with("sample/") && SampleId(name.substr(7)));
  };
  const auto open = [shard, owner = NewOwner()](
                        uint32_t entry,
                        const ReadContext& context) -> Result<Content> {
    auto block = std::make_shared<const SampleBlock>(
        Key{owner, entry}, shard, &SampleShard::Text,
        std::vector<uint32_t>{entry});
    const BlockCache::Pinned made = CTXFS_TRY(context.Get(*block));
    return Content(Decoded{std::move(block), 0}, made->size());
  };
  return MakeTable(
      {.placement = {.role = Role::kViews, .directory = "json"},
       .count = shard->entry_count(),
       .path = PathsOfEntries(shard->EntryTable(), may_have, ".json"),
       .open = open});
}

/// samples.jsonl, in blocks. Their sizes are kept, so that only the first
/// look-up decodes all of them.
class Lines {
 public:
  explicit Lines(std::shared_ptr<const SampleShard> shard)
      : shard_(std::move(shard)),
        order_(shard_->SamplesInOrder()),
        sizes_((order_.size() + kSamplesABlock - 1) / kSamplesABlock) {}

  bool empty() const { return order_.empty(); }

  Result<Content> Open(const ReadContext& context) const {
    Content content;
    for (size_t k = 0; k < sizes_.size(); ++k) {
      CTXFS_TRY(context.Check());
      const auto from = std::span(order_).subspan(k * kSamplesABlock);
      const auto samples = from.first(std::min(from.size(), kSamplesABlock));
      const auto block = [&](uint64_t size) {
        return std::make_shared<const SampleBlock>(
            Key{owner_, k}, shard_, &SampleShard::Line,
            std::vector<uint32_t>(samples.begin(), samples.end()), size);
      };
      uint64_t size = sizes_[k].load(std::memory_order_relaxed);
      if (size == 0) {  // a sample takes two bytes at the least
        const BlockCache::Pinned made = CTXFS_TRY(context.Get(*block(0)));
        size = made->size();
        sizes_[k].store(size, std::memory_order_relaxed);
      }
      content.Append(Decoded{block(size), 0}, size);
    }
    return content;
  }

 private:
  std::shared_ptr<const SampleShard> shard_;
  std::vector<uint32_t> order_;
  mutable std::vector<std::atomic<uint64_t>> sizes_;  // of blocks; 0: not yet
  const uint64_t owner_ = NewOwner();
};

}  // namespace

Container::Tables SampleViews(const std::shared_ptr<const SampleShard>& shard) {
  Container::Tables views = {JsonFiles(shard)};
  const auto lines = std::make_shared<const Lines>(shard);
  if (!lines->empty()) {
    views.push_back(OpenedFile(
        Role::kViews, "samples.jsonl",
        [lines](const ReadContext& context) { return lines->Open(context); }));
  }
  return views;
}

}  // namespace ctxfs::sample_shard
