// SPDX-License-Identifier: Apache-2.0
//
// The bytes of values and of joined columns (docs/formats/mds.md, section 6).
#include "core/formats/mds/columns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/foreign/magics.h"
#include "core/formats/mds/limits.h"

namespace ctxfs::mds {
namespace {

/// A column of one size: the values of all samples in a row.
class JoinedColumn final : public Transform {
 public:
  JoinedColumn(std::shared_ptr<const Shards> shards, uint32_t column)
      : shards_(std::move(shards)),
        column_(column),
        width_(shards_->index().columns[column].size) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    while (!out.empty()) {
      const auto first = static_cast<uint32_t>(offset / width_);
      const uint32_t shard = shards_->ShardOf(first);
      const ShardRecord& record = shards_->record(shard);
      const uint64_t end = (uint64_t{record.first} + record.samples) * width_;
      const auto length =
          static_cast<size_t>(std::min<uint64_t>(out.size(), end - offset));
      CTXFS_TRY(ReadPart(shard, offset, out.first(length), context));
      out = out.subspan(length);
      offset += length;
    }
    return {};
  }

  Status Verify(const ReadContext& context) const override {
    for (uint32_t i = 0; i < shards_->count(); ++i) {
      if (shards_->record(i).samples == 0) continue;
      SampleReader reader = CTXFS_TRY(SampleReader::Open(*shards_, i, context));
      CTXFS_TRY(reader.Verify());
    }
    return {};
  }

  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    for (uint32_t i = 0; i < shards_->count(); ++i) {
      if (!context.Check()) return false;
      if (IsUnreadable(i, budget, context)) return true;
    }
    return false;
  }

 private:
  /// Reads values of one shard: bytes [offset, offset + out.size()) of the
  /// column.
  Status ReadPart(uint32_t shard, uint64_t offset, MutableBytes out,
                  const ReadContext& context) const {
    SampleReader reader =
        CTXFS_TRY(SampleReader::Open(*shards_, shard, context));
    CTXFS_TRY(reader.Verify());
    for (uint32_t steps = 0; !out.empty(); ++steps) {
      if (steps % kSamplesPerCheck == 0) {
        CTXFS_TRY(context.Check());
      }
      const auto number = static_cast<uint32_t>(offset / width_);
      const uint64_t skip = offset % width_;
      const Sample* const sample = CTXFS_TRY(reader.Find(number));
      const Value value = reader.ValueOf(*sample, column_);
      const auto length =
          static_cast<size_t>(std::min<uint64_t>(out.size(), width_ - skip));
      CTXFS_TRY(reader.Read(value.offset + skip, out.first(length)));
      out = out.subspan(length);
      offset += length;
    }
    return {};
  }

  bool IsUnreadable(uint32_t shard, uint64_t& budget,
                    const ReadContext& context) const {
    const ShardRecord& record = shards_->record(shard);
    if (record.samples == 0) return false;
    if (shards_->Fault(shard) || shards_->verdict(shard) == Verdict::kFailed) {
      return true;
    }
    if (record.raw.bytes > budget) return false;
    budget -= record.raw.bytes;
    Result<SampleReader> reader = SampleReader::Open(*shards_, shard, context);
    Status read = reader ? reader->Verify() : Status(reader.error());
    for (uint32_t i = 0; read && i < record.samples; ++i) {
      const auto found = reader->Find(record.first + i);
      if (!found) read = found.error();
    }
    return !read && read.error().Permanent();
  }

  const std::shared_ptr<const Shards> shards_;
  const uint32_t column_;
  const uint64_t width_;
};

/// First bytes of a value that decide about its extension.
constexpr uint64_t kExaminedBytes = 16 * limits::kMiB;

/// Returns the extension of the first value in [first, end) of a shard that is
/// not empty; an empty text if all are empty.
Result<std::string> SuffixIn(const Shards& shards, uint32_t shard,
                             uint32_t column, uint32_t end,
                             const ReadContext& context) {
  SampleReader reader = CTXFS_TRY(SampleReader::Open(shards, shard, context));
  for (uint32_t i = shards.record(shard).first; i < end; ++i) {
    const Sample* const sample = CTXFS_TRY(reader.Find(i));
    const Value value = reader.ValueOf(*sample, column);
    if (value.size == 0) continue;
    const Value start{value.offset, std::min(value.size, kExaminedBytes)};
    const Buffer bytes = CTXFS_TRY(ReadValue(reader, start, context));
    return "." + std::string(ExtensionOf(bytes.span()));
  }
  return std::string();
}

}  // namespace

Result<Buffer> ReadValue(SampleReader& reader, const Value& value,
                         const Request& request) {
  if (value.size > limits::kDecodedBytes) {
    return OverLimit(std::to_string(value.size) + " bytes of a value are",
                     limits::kDecodedBytes, value.offset);
  }
  CTXFS_TRY(request.CheckMemory(value.size));
  Buffer bytes(static_cast<size_t>(value.size));
  CTXFS_TRY(reader.Read(value.offset, bytes.span()));
  return bytes;
}

Content JoinedContent(std::shared_ptr<const Shards> shards, uint32_t column) {
  const uint64_t size = JoinedSize(*shards, column);
  return {
      Computed{std::make_shared<const JoinedColumn>(std::move(shards), column),
               0},
      size};
}

uint64_t JoinedSize(const Shards& shards, uint32_t column) {
  const Index& index = shards.index();
  return CheckedMul(index.columns[column].size, index.samples)
      .value_or(UINT64_MAX);
}

Result<StoredArray> ArrayOf(SampleReader& reader, const Column& column,
                            const Value& value) {
  std::array<std::byte, kMaxArrayHeader> head;
  const MutableBytes start =
      MutableBytes(head).first(std::min<uint64_t>(head.size(), value.size));
  CTXFS_TRY(reader.Read(value.offset, start));
  return ParseArray(column, start, value.size);
}

Result<std::vector<uint64_t>> ItemsOf(SampleReader& reader,
                                      const Column& column, const Value& value,
                                      const Request& request) {
  std::array<std::byte, 8> start;
  const MutableBytes head =
      MutableBytes(start).first(std::min<uint64_t>(start.size(), value.size));
  CTXFS_TRY(reader.Read(value.offset, head));
  const uint64_t length = CTXFS_TRY(ListHead(column, head, value.size));
  const Buffer sizes =
      CTXFS_TRY(ReadValue(reader, {value.offset, length}, request));
  std::vector<uint64_t> items =
      CTXFS_TRY(ParseList(column, sizes.span(), value.size));
  for (uint64_t& item : items) item += value.offset;
  return items;
}

Result<Content> OpenValue(const Shards& shards, uint32_t column,
                          uint32_t sample, const ReadContext& context) {
  SampleReader reader =
      CTXFS_TRY(SampleReader::Open(shards, shards.ShardOf(sample), context));
  const Sample* const found = CTXFS_TRY(reader.Find(sample));
  Value value = reader.ValueOf(*found, column);
  const Column& of = shards.index().columns[column];
  if (of.kind == ColumnKind::kArray) {
    const Result<StoredArray> array = ArrayOf(reader, of, value);
    if (!array) {
      Error error = array.error();
      error.offset = value.offset;
      return Within(
          "column " + Quote(of.name) + ", sample " + std::to_string(sample),
          std::move(error));
    }
    value.offset += array->offset;
    value.size -= array->offset;
  }
  return reader.file().Part(value.offset, value.size);
}

Result<std::string> FindSuffix(const Shards& shards, uint32_t column,
                               const ReadContext& context) {
  const std::string unknown = ".bin";
  for (uint32_t i = 0; i < shards.count(); ++i) {
    const ShardRecord& record = shards.record(i);
    if (record.first >= kNamingSamples) break;
    if (record.samples == 0) continue;
    if (shards.compressed(i) && record.raw.bytes > kNamingBytes) break;
    const uint32_t end =
        std::min(kNamingSamples, record.first + record.samples);
    const Result<std::string> suffix =
        SuffixIn(shards, i, column, end, context);
    if (!suffix && !suffix.error().Permanent()) return suffix;
    if (suffix && suffix->empty()) continue;
    return suffix ? *suffix : unknown;
  }
  return unknown;
}

}  // namespace ctxfs::mds
