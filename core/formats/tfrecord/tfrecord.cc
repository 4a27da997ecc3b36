// SPDX-License-Identifier: Apache-2.0
//
// TFRecord, records in a row (docs/formats/tfrecord.md). All numbers are
// little-endian. A record is:
//
//   0       u64 length n of the data
//   8       u32 masked CRC-32C of the 8 bytes before
//   12      the data
//   12 + n  u32 masked CRC-32C of the data
#include "core/formats/tfrecord/tfrecord.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/count_of.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/formats/tfrecord/header_search.h"
#include "core/formats/tfrecord/limits.h"

namespace ctxfs::tfrecord {

const char* KindText(RecordKind kind) {
  constexpr const char* kTexts[] = {"unknown", "Example", "SequenceExample"};
  return kTexts[static_cast<size_t>(kind)];
}

Span TfRecord::At(uint32_t record) const {
  const uint64_t begin = starts_[record] + kHeaderSize;
  const auto gap = std::lower_bound(
      gaps_.begin(), gaps_.end(), record,
      [](const Gap& one, uint32_t wanted) { return one.record < wanted; });
  const bool has_gap = gap != gaps_.end() && gap->record == record;
  return {begin,
          has_gap ? gap->end : starts_[record + 1] - (kAround - kHeaderSize)};
}

std::optional<Error> TfRecord::FaultAt(uint64_t at, Bytes header) const {
  if (header.size() < kHeaderSize) {
    return Error{
        Code::kCorrupt,
        fmt::format("truncated: the header of record {} is cut short", count()),
        at};
  }
  if (!StartsWithHeader(header)) {
    return Error{Code::kCorrupt,
                 fmt::format("length_crc: the length of record {} does not "
                             "match its checksum",
                             count()),
                 at};
  }
  const uint64_t room = source()->size() - at;
  const auto length = LoadLe<uint64_t>(header.data());
  if (room >= kAround && length <= room - kAround) return std::nullopt;
  return Error{
      Code::kCorrupt,
      fmt::format("truncated: the {} bytes of record {} run past the end of "
                  "the file",
                  length, count()),
      at};
}

Status TfRecord::AddRecord(uint64_t at, uint64_t size) {
  if (count() == kMaxRecords) {
    return Error{Code::kLimit,
                 fmt::format("limit: more than {} records", kMaxRecords), at};
  }
  CTXFS_TRY(AdmitGrowth(starts_));
  starts_.push_back(at);
  bytes_ += size;
  return {};
}

void TfRecord::EndRun(uint64_t end) {
  if (starts_.empty()) return;
  if (!gaps_.empty() && gaps_.back().record == count() - 1) return;
  gaps_.push_back({count() - 1, end - (kAround - kHeaderSize)});
}

void TfRecord::WarnOfGap(const Error& fault, uint64_t next) {
  if (gaps_.size() > kMaxGapWarnings) {
    ++more_gaps_;
    return;
  }
  Warn({fmt::format("{}; {} bytes from there are left out", fault.what,
                    next - fault.offset),
        fault.offset, Severity::kDamage});
}

Result<uint64_t> TfRecord::Salvage(const Error& fault, WindowReader& headers,
                                   const ReadContext& context) {
  if (!options_.salvage) return fault;
  CTXFS_TRY(AdmitGrowth(gaps_));
  EndRun(fault.offset);
  const uint64_t size = source()->size();
  uint64_t next = size;
  if (fault.what.starts_with("length_crc")) {
    next = CTXFS_TRY(FindHeader(headers, size, fault.offset + 1, context));
  } else {
    NeedMore(size + 1, "the end of the last record");
  }
  WarnOfGap(fault, next);
  return next;
}

Status TfRecord::Walk(const ReadContext& context) {
  const uint64_t size = source()->size();
  WindowReader headers(*source(), context);
  for (uint64_t at = 0; at < size;) {
    CTXFS_TRY(CheckAt(context, count()));
    const Bytes header =
        CTXFS_TRY(headers.At(at, WindowReader::Room(at, size, kHeaderSize)));
    if (const std::optional<Error> fault = FaultAt(at, header)) {
      at = CTXFS_TRY(Salvage(*fault, headers, context));
      continue;
    }
    const auto length = LoadLe<uint64_t>(header.data());
    CTXFS_TRY(AddRecord(at, length));
    at += kAround + length;
    if (at == size) EndRun(at);
  }
  if (more_gaps_ != 0) {
    Warn({fmt::format("and {} more between records that are left out",
                      CountOf(more_gaps_, "place")),
          kNoOffset, Severity::kDamage});
  }
  return {};
}

Status TfRecord::Load(const ReadContext& context) {
  CTXFS_TRY(Walk(context));
  CTXFS_TRY(HeapAllowance::Admit(count()));
  verdicts_ = std::make_shared<std::vector<AtomicVerdict>>(count());
  return FindKind(context);
}

// The first record that is not empty tells for all. One that is damaged tells
// nothing.
Status TfRecord::FindKind(const ReadContext& context) {
  uint64_t examined = 0;
  for (uint32_t i = 0; i < count(); ++i) {
    CTXFS_TRY(CheckAt(context, i));
    const uint64_t size = At(i).size();
    if (size == 0) continue;
    examined += size;
    if (examined > kMaxExamined) return {};
    const Result<Buffer> record = Read(i, kMaxExamined, context);
    if (!record && record.error().code == Code::kChecksum) continue;
    if (!record) return record.error();
    kind_ = CTXFS_TRY(KindOf(record->span(), context));
    return {};
  }
  return {};
}

Result<Checksum> TfRecord::StoredChecksum(uint32_t record,
                                          const ReadContext& context) const {
  std::array<std::byte, kAround - kHeaderSize> stored{};
  CTXFS_TRY(source()->ReadAt(At(record).end, stored, context));
  return Checksum{ChecksumKind::kCrc32c,
                  Unmask(LoadLe<uint32_t>(stored.data()))};
}

Result<NumberSource> TfRecord::SourceOf(uint32_t record,
                                        const ReadContext& context) const {
  if (!options_.verify) return NumberSource{source(), nullptr};
  const Checksum checksum = CTXFS_TRY(StoredChecksum(record, context));
  const Span data = At(record);
  return NumberSource{
      source(),
      std::make_shared<const ChecksumGuard>(
          Key{owner_, record},
          ChecksumGuard::Guarded{source(), data.begin, data.size(), checksum},
          VerdictOf(record))};
}

Result<Content> TfRecord::Open(uint32_t record,
                               const ReadContext& context) const {
  const Span data = At(record);
  NumberSource from = CTXFS_TRY(SourceOf(record, context));
  return Content(Range{from.source, data.begin, std::move(from.guard)},
                 data.size());
}

Result<Buffer> TfRecord::Read(uint32_t record, uint64_t most,
                              const ReadContext& context) const {
  const Span data = At(record);
  if (data.size() > most) {
    return Error{Code::kLimit,
                 fmt::format("record {} has more than {} bytes", record, most),
                 data.begin};
  }
  CTXFS_TRY(HeapAllowance::Admit(data.size()));
  const NumberSource from = CTXFS_TRY(SourceOf(record, context));
  Buffer bytes(static_cast<size_t>(data.size()));
  if (from.guard != nullptr) {
    CTXFS_TRY(from.guard->Read(data.begin, bytes.span(), context));
  } else {
    CTXFS_TRY(source()->ReadAt(data.begin, bytes.span(), context));
  }
  return bytes;
}

Result<ParsedRecord> TfRecord::Parse(uint32_t record, uint64_t most,
                                     const ReadContext& context) const {
  ParsedRecord parsed;
  parsed.buffer = CTXFS_TRY(Read(record, most, context));
  parsed.data = {Bytes(parsed.buffer.span()), At(record).begin};
  parsed.example = CTXFS_TRY(ParseExample(parsed.data.bytes, kind_, context));
  return parsed;
}

EntryInfo TfRecord::Describe(uint32_t record,
                             const ReadContext& context) const {
  const Span data = At(record);
  EntryInfo info;
  info.kind = "record";
  info.size = data.size();
  info.stored_size = data.size();
  info.offset = data.begin;
  info.verified =
      options_.verify
          ? VerifiedText(VerdictOf(record)->load(std::memory_order_acquire))
          : "none";
  const Result<Checksum> checksum = StoredChecksum(record, context);
  info.incomplete = !checksum;
  if (checksum) info.checksum = checksum->Text();
  return info;
}

void TfRecord::AddInfo(Json& info, const ReadContext& /*context*/) const {
  info.update({{"format", "tfrecord"},
               {"records", count()},
               {"content", KindText(kind_)}});
}

std::shared_ptr<const FileTable> TfRecord::RecordFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kEntries,
                     .directory = "records",
                     .numbering = Numbering{.bytes = bytes_}},
       .count = count(),
       .path = &NoPath,
       .open =
           [this](uint32_t record, const ReadContext& context) {
             return Open(record, context);
           },
       .facts =
           [this](uint32_t record) { return FileFacts{At(record).size()}; },
       .describe =
           [this](uint32_t record, const ReadContext& context) {
             return Describe(record, context);
           },
       .owner = Share(*this)});
}

Container::Tables TfRecord::Files() const {
  Tables files;
  if (count() != 0) files.push_back(RecordFiles());
  if (kind_ != RecordKind::kUnknown) files.push_back(SampleDirectories());
  return files;
}

}  // namespace ctxfs::tfrecord

namespace ctxfs {

extern const Format kTfRecord{
    .name = "tfrecord",
    .contents = "records of TensorFlow (TFRecord)",
    .extensions = "tfrecord tfrecords tfrec",
    .golden = "tfrecord",
    .docs = "tfrecord",
    .probe = &tfrecord::StartsWithHeader,
    .open = &OpenAs<tfrecord::TfRecord>,
    .traits = {.stays_file = true, .opens_neighbours = true}};

}  // namespace ctxfs
