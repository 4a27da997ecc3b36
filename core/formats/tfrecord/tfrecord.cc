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
  const auto gap = std::ranges::lower_bound(gaps_, record, {}, &Gap::record);
  const bool has_gap = gap != gaps_.end() && gap->record == record;
  const uint64_t end = has_gap ? gap->end : starts_[record + 1];
  return {starts_[record] + kHeaderSize, end - kChecksumSize};
}

std::optional<Error> TfRecord::FaultAt(uint64_t at, Bytes header) const {
  std::string what;
  if (header.size() < kHeaderSize) {
    what =
        fmt::format("truncated: the header of record {} is cut short", count());
  } else if (!StartsWithHeader(header)) {
    what = fmt::format(
        "length_crc: the length of record {} does not match its checksum",
        count());
  } else if (!EndsWithin(header, source()->size() - at)) {
    what = fmt::format(
        "truncated: the {} bytes of record {} run past the end of the file",
        LoadLe<uint64_t>(header.data()), count());
  } else {
    return std::nullopt;
  }
  return Error{Code::kCorrupt, std::move(what), at};
}

void TfRecord::EndRun(uint64_t end) {
  if (starts_.empty()) return;
  if (!gaps_.empty() && gaps_.back().record == count() - 1) return;
  gaps_.push_back({count() - 1, end});
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
    if (count() == kMaxRecords) {
      return Error{Code::kLimit,
                   fmt::format("limit: more than {} records", kMaxRecords), at};
    }
    CTXFS_TRY(AdmitGrowth(starts_));
    starts_.push_back(at);
    const auto length = LoadLe<uint64_t>(header.data());
    bytes_ += length;
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

// The first record that is neither empty nor damaged determines the kind of all
// records.
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
  std::array<std::byte, kChecksumSize> stored{};
  CTXFS_TRY(source()->ReadAt(At(record).end, stored, context));
  return Checksum{ChecksumKind::kCrc32c,
                  Unmask(LoadLe<uint32_t>(stored.data()))};
}

std::shared_ptr<AtomicVerdict> TfRecord::VerdictOf(uint32_t record) const {
  if (!options_.verify) return nullptr;
  return {verdicts_, &(*verdicts_)[record]};
}

Result<Range> TfRecord::RangeOf(uint32_t record,
                                const ReadContext& context) const {
  const Span data = At(record);
  Range range{source(), data.begin, nullptr};
  if (!options_.verify) return range;
  const Checksum checksum = CTXFS_TRY(StoredChecksum(record, context));
  range.guard = std::make_shared<const ChecksumGuard>(
      Key{owner_, record},
      ChecksumGuard::Guarded{source(), data.begin, data.size(), checksum},
      VerdictOf(record));
  return range;
}

Result<Content> TfRecord::Open(uint32_t record,
                               const ReadContext& context) const {
  return Content(CTXFS_TRY(RangeOf(record, context)), At(record).size());
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
  const Range range = CTXFS_TRY(RangeOf(record, context));
  Buffer bytes(static_cast<size_t>(data.size()));
  CTXFS_TRY(range.guard != nullptr
                ? range.guard->Read(data.begin, bytes.span(), context)
                : source()->ReadAt(data.begin, bytes.span(), context));
  return bytes;
}

Result<ReadRecord> TfRecord::Parse(uint32_t record, uint64_t most,
                                   const ReadContext& context) const {
  ReadRecord read;
  read.buffer = CTXFS_TRY(Read(record, most, context));
  read.data = {Bytes(read.buffer.span()), At(record).begin};
  read.example = CTXFS_TRY(ParseExample(read.data, kind_, context));
  return read;
}

Result<ReadRecord> TfRecord::ReadSample(uint32_t record,
                                        const ReadContext& context) const {
  ReadRecord read = CTXFS_TRY(Parse(record, kMaxSample, context));
  read.files = CTXFS_TRY(FilesOf(read.example, kind_, read.data, context));
  return read;
}

Result<std::shared_ptr<const Container>> TfRecord::OpenSample(
    uint32_t record, const ReadContext& context) const {
  auto read = ReadSample(record, context);
  if (!read && !read.error().Permanent()) return read.error();
  Sample sample{CTXFS_TRY(RangeOf(record, context)), VerdictOf(record), {}};
  if (read) sample.files = std::move(read->files);
  return DirectoryOf(std::move(sample));
}

EntryInfo TfRecord::Describe(uint32_t record,
                             const ReadContext& context) const {
  const Span data = At(record);
  EntryInfo info;
  info.kind = "record";
  info.size = data.size();
  info.stored_size = data.size();
  info.offset = data.begin;
  info.verified = VerifiedTextOf(VerdictOf(record).get());
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

std::shared_ptr<const FileTable> TfRecord::SampleDirectories() const {
  const auto open = [this](uint32_t record, const ReadContext& context) {
    return OpenSample(record, context);
  };
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = "samples",
                     .numbering = Numbering{.open_directory = open}},
       .count = count(),
       .path = &NoPath,
       .open = [](uint32_t /*record*/, const ReadContext& /*context*/)
           -> Result<Content> { return Content(); },
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
