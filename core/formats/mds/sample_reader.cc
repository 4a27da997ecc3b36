// SPDX-License-Identifier: Apache-2.0
//
// A shard (docs/formats/mds.md, section 3), little-endian:
//   0       u32 number of samples N
//   4       N + 1 u32 offsets of samples
//   8 + 4N  text of the writer
//   then    the samples: a u32 for each value that varies, then all values
#include "core/formats/mds/sample_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"

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

Result<SampleReader> SampleReader::OpenAt(const Shards& shards, uint32_t number,
                                          const ReadContext& context) {
  SampleReader reader =
      CTXFS_TRY(Open(shards, shards.ShardOf(number), context));
  CTXFS_TRY(reader.Find(number));
  return reader;
}

Result<SampleReader> SampleReader::OpenVerified(const Shards& shards,
                                                uint32_t number,
                                                const ReadContext& context) {
  SampleReader reader =
      CTXFS_TRY(Open(shards, shards.ShardOf(number), context));
  CTXFS_TRY(reader.Verify());
  CTXFS_TRY(reader.Find(number));
  return reader;
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
  // Reads the offset before this one, too, because offsets must not decrease.
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

Status SampleReader::FindValues(uint32_t index, uint64_t begin, uint64_t end) {
  const std::vector<Column>& columns = shards_.index().columns;
  const uint64_t head = 4 * uint64_t{shards_.index().varying};
  const uint64_t first = begin + std::min(head, end - begin);
  ByteReader sizes({});
  uint64_t read = begin;  // the end of `sizes`
  uint64_t at = begin + head;
  starts_.assign(1, at);
  for (uint32_t i = 0; i < columns.size() && at <= end; ++i) {
    const bool varies = columns[i].size == 0;
    if (varies && sizes.remaining() == 0) {
      const size_t room = WindowReader::Room(read, first);
      sizes = ByteReader(CTXFS_TRY(At(values_, read, room)));
      read += room;
    }
    at += varies ? sizes.U32() : columns[i].size;
    starts_.push_back(at);
  }
  if (at == end) return {};
  return Damaged(
      index, fmt::format("its values do not fill its {} bytes", end - begin),
      begin);
}

Status SampleReader::Find(uint32_t number) {
  const uint32_t index = number - shards_.record(shard_).first;
  if (!shards_.KnowsHeader(shard_)) {
    CTXFS_TRY(shards_.CheckHeader(shard_, CTXFS_TRY(At(offsets_, 0, 8))));
  }
  uint64_t begin = 0;
  uint64_t end = 0;
  CTXFS_TRY(FindBounds(index, begin, end));
  number_ = number;
  return FindValues(index, begin, end);
}

Result<Buffer> SampleReader::ReadValue(const Value& value) {
  if (value.size > limits::kDecodedBytes) {
    return OverLimit(std::to_string(value.size) + " bytes of a value are",
                     limits::kDecodedBytes, value.offset);
  }
  CTXFS_TRY(context_.CheckMemory(value.size));
  Buffer bytes(static_cast<size_t>(value.size));
  CTXFS_TRY(Read(value.offset, bytes.span()));
  return bytes;
}

Result<ShownValue> SampleReader::ShownOf(uint32_t column) {
  const Value value = ValueOf(column);
  const Column& of = this->column(column);
  if (of.kind != ColumnKind::kArray) return ShownValue{value, {}, {}};
  const uint64_t head = std::min(value.size, kMaxArrayHeader);
  const Buffer start = CTXFS_TRY(ReadValue({value.offset, head}));
  StoredArray array = CTXFS_TRY(ParseArray(of, start.span(), value.size));
  return ShownValue{{value.offset + array.offset, value.size - array.offset},
                    array.dtype,
                    std::move(array.shape)};
}

Result<std::vector<uint64_t>> SampleReader::ItemsOf(uint32_t column) {
  constexpr uint64_t kStart = 8;
  const Value value = ValueOf(column);
  const Column& of = this->column(column);
  const Buffer start =
      CTXFS_TRY(ReadValue({value.offset, std::min(value.size, kStart)}));
  const uint64_t head = CTXFS_TRY(ListHead(of, start.span(), value.size));
  const Buffer sizes = CTXFS_TRY(ReadValue({value.offset, head}));
  std::vector<uint64_t> items =
      CTXFS_TRY(ParseList(of, sizes.span(), value.size));
  for (uint64_t& item : items) item += value.offset;
  return items;
}

}  // namespace ctxfs::mds
