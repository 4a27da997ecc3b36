// SPDX-License-Identifier: Apache-2.0
//
// views/records.jsonl of a stream (docs/formats/cowrie.md, section 7), in
// blocks of records that are decoded together.
#include <fmt/core.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/content/check_at.h"
#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/stream.h"

namespace ctxfs::cowrie {
namespace {

/// The line of a record, the same at each call.
Result<std::string> LineOf(const CowrieStream& stream, uint32_t record,
                           const ReadContext& context) {
  const Result<Json> value = stream.Value(record, context);
  if (value) return JsonLine(*value) + "\n";
  if (!value.error().Permanent()) return value.error();
  return JsonLine({{"$error", value.error().Text()}, {"record", record}}) +
         "\n";
}

/// The lines of records [first, end).
class LineBlock final : public Block {
 public:
  LineBlock(Key key, std::shared_ptr<const CowrieStream> stream, uint32_t first,
            uint32_t end, uint64_t size)
      : Block(key),
        stream_(std::move(stream)),
        first_(first),
        end_(end),
        size_(size) {}

  uint64_t cost() const override {
    uint64_t bytes = 0;
    for (uint32_t i = first_; i < end_; ++i) {
      // A larger one is not decoded: its line is an error.
      const uint64_t size = stream_->PayloadSize(i);
      if (size <= kMaxBytes) bytes += size;
    }
    return 2 * bytes;  // an estimate: the size is known only afterwards
  }
  const Source* made_from() const override { return stream_->source().get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    std::string text;
    for (uint32_t i = first_; i < end_; ++i) {
      CTXFS_TRY(context.Check());
      const std::string line = CTXFS_TRY(LineOf(*stream_, i, context));
      if (line.size() > limits::kDecodedBytes - text.size()) {
        return Error{Code::kLimit,
                     fmt::format("records of more than {} bytes of JSON",
                                 limits::kDecodedBytes)};
      }
      CTXFS_TRY(AppendAdmitted(text, line));
    }
    if (size_ != 0 && text.size() != size_) {
      return Error{Code::kCorrupt,
                   "a record has been damaged since the size of the file was "
                   "measured"};
    }
    Buffer made(text.size());
    if (!text.empty()) std::memcpy(made.data(), text.data(), text.size());
    return made;
  }

 private:
  std::shared_ptr<const CowrieStream> stream_;
  uint32_t first_;
  uint32_t end_;
  uint64_t size_;  // when it was made before; 0 the first time
};

/// All lines. The sizes of blocks are kept, so that only the first look-up
/// decodes all records.
class Lines {
 public:
  explicit Lines(std::shared_ptr<const CowrieStream> stream)
      : stream_(std::move(stream)) {
    constexpr uint64_t kBlockBytes = 4 * limits::kMiB;
    constexpr uint32_t kBlockRecords = 256;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stream_->count(); ++i) {
      const uint64_t size = stream_->PayloadSize(i);
      if (i == 0 || i - starts_.back() == kBlockRecords ||
          bytes + size > kBlockBytes) {
        starts_.push_back(i);
        bytes = 0;
      }
      bytes += size;
    }
    sizes_ = std::vector<std::atomic<uint64_t>>(starts_.size());
    starts_.push_back(stream_->count());
  }

  Result<Content> Open(const ReadContext& context) const {
    Content content;
    for (size_t k = 0; k < sizes_.size(); ++k) {
      CTXFS_TRY(context.Check());
      const auto block = [&](uint64_t size) {
        return std::make_shared<const LineBlock>(
            Key{owner_, k}, stream_, starts_[k], starts_[k + 1], size);
      };
      uint64_t size = sizes_[k].load(std::memory_order_relaxed);
      if (size == 0) {  // a line takes two bytes at the least
        const BlockCache::Pinned made = CTXFS_TRY(context.Get(*block(0)));
        size = made->size();
        sizes_[k].store(size, std::memory_order_relaxed);
      }
      content.Append(Decoded{block(size), 0}, size);
    }
    return content;
  }

 private:
  std::shared_ptr<const CowrieStream> stream_;
  std::vector<uint32_t> starts_;  // of the blocks, and the end of the last
  mutable std::vector<std::atomic<uint64_t>> sizes_;  // 0: not known yet
  const uint64_t owner_ = NewOwner();
};

}  // namespace

std::shared_ptr<const FileTable> RecordLines(
    std::shared_ptr<const CowrieStream> stream) {
  return OpenedFile(
      Role::kViews, "records.jsonl",
      [lines = std::make_shared<const Lines>(std::move(stream))](
          const ReadContext& context) { return lines->Open(context); });
}

}  // namespace ctxfs::cowrie
