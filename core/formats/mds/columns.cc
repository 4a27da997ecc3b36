// SPDX-License-Identifier: Apache-2.0
//
// Joined columns, and names of values (docs/formats/mds.md, sections 4 and 6).
#include "core/formats/mds/columns.h"

#include <algorithm>
#include <utility>

#include "core/container/foreign/magics.h"
#include "core/formats/mds/limits.h"
#include "core/formats/mds/sample_reader.h"

namespace ctxfs::mds {
namespace {

/// The values of a joined column in one shard.
class ShardColumn final : public Transform {
 public:
  ShardColumn(std::shared_ptr<const Shards> shards, uint32_t shard,
              uint32_t column)
      : shards_(std::move(shards)), shard_(shard), column_(column) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const uint64_t width = shards_->index().columns[column_].size;
    SampleReader reader =
        CTXFS_TRY(SampleReader::Open(*shards_, shard_, context));
    CTXFS_TRY(reader.Verify());
    auto number = record().first + static_cast<uint32_t>(offset / width);
    for (uint64_t skip = offset % width; !out.empty(); ++number, skip = 0) {
      if (number % kSamplesPerCheck == 0) CTXFS_TRY(context.Check());
      CTXFS_TRY(reader.Find(number));
      const MutableBytes part = out.first(
          static_cast<size_t>(std::min<uint64_t>(out.size(), width - skip)));
      CTXFS_TRY(reader.Read(reader.ValueOf(column_).offset + skip, part));
      out = out.subspan(part.size());
    }
    return {};
  }

  Status Verify(const ReadContext& context) const override {
    const SampleReader reader =
        CTXFS_TRY(SampleReader::Open(*shards_, shard_, context));
    return reader.Verify();
  }

  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    if (shards_->Fault(shard_) ||
        shards_->verdict(shard_) == Verdict::kFailed) {
      return true;
    }
    if (record().raw.bytes > budget) return false;
    budget -= record().raw.bytes;
    const Status read = FindAll(context);
    return !read && read.error().Permanent();
  }

 private:
  const ShardRecord& record() const { return shards_->record(shard_); }

  Status FindAll(const ReadContext& context) const {
    SampleReader reader =
        CTXFS_TRY(SampleReader::Open(*shards_, shard_, context));
    CTXFS_TRY(reader.Verify());
    for (uint32_t i = 0; i < record().samples; ++i) {
      if (i % kSamplesPerCheck == 0) CTXFS_TRY(context.Check());
      CTXFS_TRY(reader.Find(record().first + i));
    }
    return {};
  }

  const std::shared_ptr<const Shards> shards_;
  const uint32_t shard_;
  const uint32_t column_;
};

/// Number of first bytes of a value that decide its extension.
constexpr uint64_t kExaminedBytes = 16 * limits::kMiB;

/// Returns the extension of the first value that is not empty among the shard's
/// samples before `end`; an empty text if all are empty.
Result<std::string> SuffixIn(const Shards& shards, uint32_t shard,
                             uint32_t column, uint32_t end,
                             const ReadContext& context) {
  SampleReader reader = CTXFS_TRY(SampleReader::Open(shards, shard, context));
  for (uint32_t i = shards.record(shard).first; i < end; ++i) {
    CTXFS_TRY(reader.Find(i));
    Value value = reader.ValueOf(column);
    if (value.size == 0) continue;
    value.size = std::min(value.size, kExaminedBytes);
    const Buffer bytes = CTXFS_TRY(reader.ReadValue(value));
    return "." + std::string(ExtensionOf(bytes.span()));
  }
  return std::string();
}

}  // namespace

Content JoinedContent(const std::shared_ptr<const Shards>& shards,
                      uint32_t column) {
  Content content;
  for (uint32_t i = 0; i < shards->count(); ++i) {
    const uint64_t samples = shards->record(i).samples;
    if (samples == 0) continue;
    content.Append(
        Computed{std::make_shared<const ShardColumn>(shards, i, column), 0},
        samples * shards->index().columns[column].size);
  }
  return content;
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
