// SPDX-License-Identifier: Apache-2.0
//
// Samples as JSON (docs/sampleshard.md, section 5): views/json/ and
// views/samples.jsonl. The size of a text is known only after it was made.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/limits.h"
#include "core/container/entry_file_table.h"
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
      if (Status wanted = context.Check(); !wanted) return wanted.error();
      const Result<std::string> more = ((*shard_).*write_)(sample, context);
      if (!more) return more.error();
      if (more->size() > limits::kDecodedBytes - text.size()) {
        return Error{Code::kLimit, "samples of more than " +
                                       std::to_string(limits::kDecodedBytes) +
                                       " bytes of JSON"};
      }
      text += *more;
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

class JsonFiles final : public EntryFileTable {
 public:
  explicit JsonFiles(std::shared_ptr<const SampleShard> shard)
      : EntryFileTable(shard->EntryTable(), Role::kViews, "json", ".json"),
        shard_(std::move(shard)) {}

  bool MayHave(uint32_t entry) const override {
    // The README of the reference has names such as sample/000007, which its
    // code ignores.
    const std::string_view name = shard_->EntryName(entry).value_or("");
    return shard_->IsSample(entry) ||
           (name.starts_with("sample/") && SampleId(name.substr(7)));
  }

  Result<Content> Open(uint32_t entry,
                       const ReadContext& context) const override {
    auto block = std::make_shared<const SampleBlock>(
        Key{owner_, entry}, shard_, &SampleShard::Text,
        std::vector<uint32_t>{entry});
    const Result<BlockCache::Pinned> made = context.Get(*block);
    if (!made) return made.error();
    return Content(Decoded{std::move(block), 0}, (*made)->size());
  }

 private:
  std::shared_ptr<const SampleShard> shard_;
  const uint64_t owner_ = NewOwner();
};

/// samples.jsonl, in blocks. Their sizes are kept, so that only the first
/// look-up decodes all of them.
class LinesFile final : public FileTable {
 public:
  explicit LinesFile(std::shared_ptr<const SampleShard> shard)
      : FileTable({.role = Role::kViews}),
        shard_(std::move(shard)),
        order_(shard_->SamplesInOrder()),
        sizes_((order_.size() + kSamplesABlock - 1) / kSamplesABlock) {}

  uint32_t count() const override { return order_.empty() ? 0 : 1; }

  std::optional<std::string_view> Path(
      uint32_t /*file*/, std::string& /*scratch*/) const override {
    return "samples.jsonl";
  }

  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& context) const override {
    Content content;
    for (size_t k = 0; k < sizes_.size(); ++k) {
      if (Status wanted = context.Check(); !wanted) return wanted.error();
      const auto from = std::span(order_).subspan(k * kSamplesABlock);
      const auto samples = from.first(std::min(from.size(), kSamplesABlock));
      const auto block = [&](uint64_t size) {
        return std::make_shared<const SampleBlock>(
            Key{owner_, k}, shard_, &SampleShard::Line,
            std::vector<uint32_t>(samples.begin(), samples.end()), size);
      };
      uint64_t size = sizes_[k].load(std::memory_order_relaxed);
      if (size == 0) {  // a sample takes two bytes at the least
        const Result<BlockCache::Pinned> made = context.Get(*block(0));
        if (!made) return made.error();
        size = (*made)->size();
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
  return {std::make_shared<const JsonFiles>(shard),
          std::make_shared<const LinesFile>(shard)};
}

}  // namespace ctxfs::sample_shard
