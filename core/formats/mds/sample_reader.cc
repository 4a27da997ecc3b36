// SPDX-License-Identifier: Apache-2.0
//
// A shard (docs/formats/mds.md, section 3), little-endian:
//   0       u32 number of samples N
//   4       N + 1 u32 offsets of samples
//   8 + 4N  text of the writer
//   then    the samples: a u32 for each value that varies, then all values
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/formats/mds/shards.h"

namespace ctxfs::mds {

Result<SampleReader> SampleReader::Open(const Shards& shards, uint32_t shard,
                                        const ReadContext& context) {
  ShardFile file = CTXFS_TRY(shards.Open(shard, context));
  BlockCache::Pinned decoded;
  if (file.block != nullptr) {
    decoded = CTXFS_TRY(context.Get(*file.block));
    CTXFS_TRY(file.block->CheckUnchanged());
  }
  return SampleReader(shards, shard, std::move(file), std::move(decoded),
                      context);
}

SampleReader::SampleReader(const Shards& shards, uint32_t shard, ShardFile file,
                           BlockCache::Pinned decoded,
                           const ReadContext& context)
    : shards_(shards),
      shard_(shard),
      file_(std::move(file)),
      decoded_(std::move(decoded)),
      context_(context),
      offsets_(*file_.source, context),
      values_(*file_.source, context) {}

Status SampleReader::Verify() const {
  if (file_.guard == nullptr) return {};  // blocks are verified when decoded
  Status verified = file_.guard->Verify(context_);
  if (verified) return {};
  return Within(shards_.Label(shard_), std::move(verified).error());
}

Result<Bytes> SampleReader::At(WindowReader& reader, uint64_t offset,
                               size_t length) {
  if (decoded_ == nullptr) return reader.At(offset, length);
  if (InBounds(offset, length, decoded_->size())) {
    return decoded_->span().subspan(static_cast<size_t>(offset), length);
  }
  return Error{Code::kCorrupt, "past the end of the shard", offset};
}

Status SampleReader::Read(uint64_t offset, MutableBytes out) {
  if (out.size() <= WindowReader::kMax || decoded_ != nullptr) {
    const Bytes bytes = CTXFS_TRY(At(values_, offset, out.size()));
    std::ranges::copy(bytes, out.begin());
    return {};
  }
  if (!InBounds(offset, out.size(), size())) {
    return Error{Code::kCorrupt, "past the end of the shard", offset};
  }
  return file_.source->ReadAt(offset, out, context_);
}

Error SampleReader::Damaged(uint32_t index, const std::string& why,
                            uint64_t at) const {
  return {Code::kCorrupt,
          fmt::format("{}: sample {}: {}", shards_.Label(shard_), index, why),
          at};
}

Status SampleReader::FindBounds(uint32_t index, uint64_t& begin,
                                uint64_t& end) {
  const uint64_t at = 4 + 4 * uint64_t{index};
  // The offset before tells whether this one is below it.
  const bool first = index == 0;
  ByteReader in(
      CTXFS_TRY(At(offsets_, first ? at : at - 4, first ? 2 * 4 : 3 * 4)));
  const uint64_t before = first ? 0 : in.U32();
  begin = in.U32();
  end = in.U32();
  const bool below = before <= size() && begin < before;
  if (begin > size() || below) {
    return Damaged(index, fmt::format("its offset {} is wrong", begin), at);
  }
  if (end > size() || end < begin) {
    return Damaged(index, fmt::format("its end {} is wrong", end), at + 4);
  }
  return {};
}

Status SampleReader::ReadSizes(uint64_t begin, uint64_t length) {
  const Index& index = shards_.index();
  const uint32_t number = sample_.number - shards_.record(shard_).first;
  const uint64_t head = 4 * uint64_t{index.varying};
  sample_.offset = begin + head;
  sample_.sizes.resize(index.varying);
  uint64_t sum = head;
  constexpr uint32_t kAtOnce = WindowReader::kMax / 4;
  for (uint32_t i = 0; i < index.varying && head <= length;) {
    const uint32_t now = std::min(kAtOnce, index.varying - i);
    ByteReader in(
        CTXFS_TRY(At(values_, begin + 4 * uint64_t{i}, 4 * size_t{now})));
    for (const uint32_t stop = i + now; i < stop; ++i) {
      sum += sample_.sizes[i] = in.U32();
    }
  }
  const auto all = CheckedAdd(sum, index.fixed_bytes);
  if (head <= length && all == length) return {};
  return Damaged(number,
                 fmt::format("its values do not fill its {} bytes", length),
                 begin);
}

Result<const Sample*> SampleReader::Find(uint32_t number) {
  const uint32_t index = number - shards_.record(shard_).first;
  if (!shards_.KnowsHeader(shard_)) {
    CTXFS_TRY(shards_.CheckHeader(shard_, CTXFS_TRY(At(offsets_, 0, 8))));
  }
  uint64_t begin = 0;
  uint64_t end = 0;
  CTXFS_TRY(FindBounds(index, begin, end));
  sample_.number = number;
  CTXFS_TRY(ReadSizes(begin, end - begin));
  return &sample_;
}

Value SampleReader::ValueOf(const Sample& sample, uint32_t column) const {
  const std::vector<Column>& columns = shards_.index().columns;
  Value value{sample.offset, 0};
  size_t varying = 0;
  for (uint32_t i = 0;; ++i) {
    value.size =
        columns[i].size != 0 ? columns[i].size : sample.sizes[varying++];
    if (i == column) return value;
    value.offset += value.size;
  }
}

}  // namespace ctxfs::mds
