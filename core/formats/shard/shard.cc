// SPDX-License-Identifier: Apache-2.0
//
// Shard v2, any role (docs/formats/shard.md): header, index and names, and the
// checks of section 18.
//
//   0                     header, 64 bytes
//   64                    index, entry_count records of 48 bytes
//   string_table_offset   names, found by (offset, length) in the index
//   data_section_offset   entries in any order: plain bytes, zstd frames or an
//                         lz4 block each. The index has their CRC-32C
//                         (section 10)
//   schema_offset         metadata: one JSON value, up to the end of the file
#include "core/formats/shard/shard.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/open.h"
#include "core/content/check_at.h"

namespace ctxfs::shard {

namespace {

constexpr uint32_t kMagic = 0x44524853;  // "SHRD"
constexpr uint64_t kHeaderSize = ShardHeader::kSize;
constexpr uint64_t kRecordSize = ShardRecord::kSize;

// Offsets in the header and in a record, for positions of faults.
constexpr uint64_t kVersionAt = 4;
constexpr uint64_t kRoleAt = 5;
constexpr uint64_t kEntrySizeAt = 10;
constexpr uint64_t kEntryCountAt = 12;
constexpr uint64_t kStringTableAt = 16;
constexpr uint64_t kDataSectionAt = 24;
constexpr uint64_t kSchemaAt = 32;
constexpr uint64_t kTotalSizeAt = 40;
constexpr uint64_t kNameOffsetAt = 8;
constexpr uint64_t kNameLengthAt = 12;
constexpr uint64_t kDataOffsetAt = 16;

bool Probe(Bytes head) {
  return head.size() >= 4 && LoadLe<uint32_t>(head.data()) == kMagic;
}

}  // namespace

bool HasShardRole(Bytes head, uint8_t role) {
  return head.size() > kRoleAt && Probe(head) &&
         std::to_integer<uint8_t>(head[kRoleAt]) == role;
}

Status ShardContainer::Load(const ReadContext& context) {
  for (const auto step :
       {&ShardContainer::ReadHeader, &ShardContainer::ReadIndex,
        &ShardContainer::ReadNames, &ShardContainer::CheckEntries,
        &ShardContainer::ReadConventions}) {
    CTXFS_TRY((this->*step)(context));
  }
  return {};
}

Status ShardContainer::Fault(Error error) {
  if (!options_.salvage) return error;
  Warn({std::move(error.what), error.offset, Severity::kDamage});
  return {};
}

Status ShardContainer::ReadHeader(const ReadContext& context) {
  const uint64_t size = source()->size();
  if (size < kHeaderSize) {
    return Error{Code::kCorrupt, "the file ends within the header of 64 bytes",
                 size};
  }
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(*source(), 0, kHeaderSize, "header", context));
  ByteReader in(bytes.span());
  in.Skip(4);  // the magic, checked by the probe
  header_.version = in.U8();
  header_.role = in.U8();
  header_.flags = in.U16();
  header_.alignment = in.U8();
  header_.compression_default = in.U8();
  header_.index_entry_size = in.U16();
  header_.entry_count = in.U32();
  header_.string_table_offset = in.U64();
  header_.data_section_offset = in.U64();
  header_.schema_offset = in.U64();
  header_.total_file_size = in.U64();

  if (header_.version != 2) {
    return Error{Code::kVersion,
                 fmt::format("Shard version {} is not supported, only 2 is",
                             header_.version),
                 kVersionAt};
  }
  if (header_.index_entry_size != kRecordSize) {
    return Error{
        Code::kCorrupt,
        fmt::format("index_entry_size is {}, not 48", header_.index_entry_size),
        kEntrySizeAt};
  }
  if (header_.entry_count > limits::kEntries) {
    return OverLimit(fmt::format("entry_count {} is", header_.entry_count),
                     limits::kEntries, kEntryCountAt);
  }
  Need(header_.total_file_size);
  if (header_.total_file_size != size) {
    const char* how = header_.total_file_size > size
                          ? "truncated"
                          : "followed by other bytes";
    return Fault(
        {Code::kCorrupt,
         fmt::format(
             "the container is {}: total_file_size {}, but the file has {}",
             how, header_.total_file_size, size),
         kTotalSizeAt});
  }
  return {};
}

Status ShardContainer::ReadIndex(const ReadContext& context) {
  const uint64_t bytes = kRecordSize * header_.entry_count;
  if (!InBounds(kHeaderSize, bytes, source()->size())) {
    return Error{Code::kCorrupt,
                 fmt::format("the file ends within the index of {} entries",
                             header_.entry_count),
                 kEntryCountAt};
  }
  index_ =
      CTXFS_TRY(ReadBuffer(*source(), kHeaderSize, bytes, "index", context));
  verdicts_ = std::make_shared<std::vector<AtomicVerdict>>(header_.entry_count);
  return {};
}

Status ShardContainer::ReadNames(const ReadContext& context) {
  const uint64_t size = source()->size();
  uint64_t start = header_.string_table_offset;
  uint64_t end = header_.data_section_offset;
  data_floor_ = end;
  if (start > end || end > size) {
    const bool inverted = start > end;
    CTXFS_TRY(Fault(
        {Code::kCorrupt,
         inverted
             ? fmt::format(
                   "string_table_offset {} is after data_section_offset {}",
                   start, end)
             : fmt::format("data_section_offset {} is past the end at {}", end,
                           size),
         inverted ? kStringTableAt : kDataSectionAt}));
    // Salvage: names may extend to the end of the file (none if the offsets are
    // out of order), and data may start right after the index.
    start = std::min(start, size);
    end = inverted ? start : size;
    data_floor_ = std::min(data_floor_, ShardRecord::At(header_.entry_count));
  }
  names_size_ = end - start;

  uint64_t used = 0;
  // Names can share bytes, so a small table can describe a huge tree. So the
  // bytes of all names together are limited, too.
  uint64_t total = 0;
  uint64_t outside = 0;
  uint32_t first_outside = 0;
  for (uint32_t i = 0; i < header_.entry_count; ++i) {
    CTXFS_TRY(CheckAt(context, i));
    const ShardRecord record = Record(i);
    if (InBounds(record.name_offset, record.name_length, names_size_)) {
      used = std::max(used, uint64_t{record.name_offset} + record.name_length);
      total += record.name_length;
    } else if (outside++ == 0) {
      first_outside = i;
    }
  }
  if (total > limits::kNameBytes || used > limits::kNameBytes) {
    return OverLimit(
        fmt::format("names of {} bytes are", std::max(used, total)),
        limits::kNameBytes, kStringTableAt);
  }
  if (outside > 0) {
    Warn({fmt::format("{} names are outside the string table, the first that "
                      "of entry {}",
                      outside, first_outside),
          ShardRecord::At(first_outside, kNameOffsetAt), Severity::kDamage});
  }
  names_ =
      CTXFS_TRY(ReadBuffer(*source(), start, used, "string table", context));
  return {};
}

Status ShardContainer::CheckEntries(const ReadContext& context) {
  if (!options_.salvage) {
    for (uint32_t i = 0; i < header_.entry_count; ++i) {
      CTXFS_TRY(CheckAt(context, i));
      if (std::optional<Error> fault = EntryFault(i)) return *std::move(fault);
    }
  }
  CTXFS_TRY(CheckOverlaps(context));
  const uint64_t schema = header_.schema_offset;
  if (schema > source()->size()) {
    Warn({"the metadata starts past the end, at " + std::to_string(schema),
          kSchemaAt, Severity::kDamage});
  }
  return {};
}

Status ShardContainer::CheckOverlaps(const ReadContext& context) {
  // In a container of role 5 (an episode) entries may overlap, because stream
  // writers interleave its lanes (docs/formats/wshard.md, section 5).
  if (header_.role == kWShardRole) return {};

  // Most writers store data in index order, which needs no sorting.
  uint64_t end = 0;
  bool ordered = true;
  for (uint32_t i = 0; ordered && i < header_.entry_count; ++i) {
    CTXFS_TRY(CheckAt(context, i));
    const ShardRecord record = Record(i);
    if (record.disk_size == 0 || EntryFault(i)) continue;
    ordered = record.data_offset >= end;
    end = record.data_offset + record.disk_size;
  }
  if (ordered) return {};

  CTXFS_TRY(HeapAllowance::Admit(sizeof(uint32_t) * header_.entry_count));
  std::vector<uint32_t> order(header_.entry_count);
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](uint32_t i) {
    return Record(i).disk_size == 0 || EntryFault(i).has_value();
  });
  std::ranges::sort(order, {}, [&](uint32_t i) {
    return std::pair(Record(i).data_offset, i);
  });
  uint64_t reach = 0;     // furthest end of the earlier entries
  uint32_t furthest = 0;  // the entry with that end
  for (const uint32_t i : order) {
    const ShardRecord record = Record(i);
    if (record.data_offset < reach) {
      if (overlapping_.empty()) {
        CTXFS_TRY(Fault({Code::kCorrupt,
                         Label(i) + " shares bytes with " + Label(furthest),
                         ShardRecord::At(i, kDataOffsetAt)}));
        overlapping_.resize(header_.entry_count);
      }
      overlapping_[i] = true;
      overlapping_[furthest] = true;
    }
    if (record.data_offset + record.disk_size > reach) {
      reach = record.data_offset + record.disk_size;
      furthest = i;
    }
  }
  return {};
}

ShardRecord ShardContainer::Record(uint32_t entry) const {
  ByteReader in(index_.span().subspan(kRecordSize * entry, kRecordSize));
  ShardRecord record{.number = entry};
  record.name_hash = in.U64();
  record.name_offset = in.U32();
  record.name_length = in.U16();
  record.flags = in.U16();
  record.data_offset = in.U64();
  record.disk_size = in.U64();
  record.orig_size = in.U64();
  record.checksum = in.U32();
  record.content_type = in.U16();
  record.tag_bits = in.U16();
  return record;
}

std::string ShardContainer::Label(uint32_t entry) const {
  const std::optional<std::string_view> name = EntryName(entry);
  return fmt::format("entry {}{}", entry, name ? " " + Quote(*name) : "");
}

std::optional<std::string_view> ShardContainer::EntryName(
    uint32_t entry) const {
  // This function is called very often, so it reads only two fields of the
  // record.
  const std::byte* record = index_.data() + kRecordSize * entry;
  const auto offset = LoadLe<uint32_t>(record + kNameOffsetAt);
  const auto length = LoadLe<uint16_t>(record + kNameLengthAt);
  // names_ ends at the last byte of a name within the table, so this check also
  // rejects names outside the table.
  if (!InBounds(offset, length, names_.size())) return std::nullopt;
  return AsText(names_.span().subspan(offset, length));
}

std::optional<Error> ShardContainer::EntryFault(uint32_t entry) const {
  const ShardRecord record = Record(entry);
  const auto fault = [&](const std::string& what) {
    return Error{Code::kCorrupt, Label(entry) + what,
                 ShardRecord::At(entry, kDataOffsetAt)};
  };
  if (record.data_offset < data_floor_) {
    return fault(
        fmt::format(": data_offset {} is before the data section at {}",
                    record.data_offset, data_floor_));
  }
  if (!InBounds(record.data_offset, record.disk_size, source()->size())) {
    return fault(fmt::format(": {} bytes at {} run past the end at {}",
                             record.disk_size, record.data_offset,
                             source()->size()));
  }
  // Without a checksum, nothing proves which entry the shared bytes belong to.
  if (!overlapping_.empty() && overlapping_[entry] && !StoredChecksum(record)) {
    return fault(" shares bytes with another and has no checksum");
  }
  return std::nullopt;
}

uint64_t ShardContainer::EntrySize(uint32_t entry) const {
  const ShardRecord record = Record(entry);
  if (EntryFault(entry)) return 0;
  const uint64_t payload =
      Encoded(record) ? record.orig_size : record.disk_size;
  if (const ShardSeal* seal = Seal(entry)) return SealedSize(*seal, payload);
  return Encoded(record) && TooLarge(record, /*in_memory=*/false) ? 0 : payload;
}

}  // namespace ctxfs::shard

namespace ctxfs {

extern const Format kShard{.name = "shard",
                           .contents = "any Shard v2 container",
                           .extensions = "shard umsh",
                           .golden = "shard shard-profiles",
                           .docs = "shard",
                           .probe = &shard::Probe,
                           .open = &OpenAs<shard::ShardContainer>,
                           .traits = {.optional_checksums = true}};

}  // namespace ctxfs
