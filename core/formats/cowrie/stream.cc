// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cowrie/stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/codec/codec.h"
#include "core/container/bytes_after.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/container/unreadable.h"
#include "core/formats/cowrie/array_files.h"
#include "core/formats/cowrie/limits.h"

namespace ctxfs::cowrie {
namespace {

/// The arrays of a record as the directory arrays/NNNNNN.
class RecordArrays final : public Container {
 public:
  RecordArrays(std::shared_ptr<const Source> stream, ArrayFiles arrays)
      : Container(std::move(stream), /*part=*/true),
        arrays_(std::move(arrays)) {}

  void AddInfo(Json& /*info*/, const ReadContext& /*context*/) const override {}
  Tables Files() const override { return {arrays_.Table("", Share(*this))}; }
  Exports Export() const override {
    Exports exports;
    if (arrays_.count() == 0) return exports;
    exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
      return self->arrays_.All(self);
    };
    return exports;
  }

 private:
  const ArrayFiles arrays_;
};

}  // namespace

std::string RecordName(uint32_t record, std::string_view suffix) {
  return fmt::format("{:06}{}", record, suffix);
}

Status CowrieStream::Load(const ReadContext& context) {
  const Buffer head = CTXFS_TRY(ReadHead(*source(), context));
  frames_ = StartsLikeFrames(head.span());
  if (frames_) {
    records_ = CTXFS_TRY(WalkFrames(*source(), context));
  } else {
    uint64_t end = 0;
    records_ = CTXFS_TRY(WalkLengths(*source(), end, context));
    if (end < source()->size()) {
      Warn(CTXFS_TRY(
          BytesAfter(*source(), end,
                     fmt::format("{} bytes follow the end mark of the stream",
                                 source()->size() - end),
                     options_.formats, context)));
    }
  }
  CTXFS_TRY(HeapAllowance::Admit(records_.size()));
  verdicts_ = std::vector<AtomicVerdict>(records_.size());
  if (records_.size() > kMaxArrayFolders) {
    Warn({fmt::format("arrays/ has the arrays of the first {} records only",
                      kMaxArrayFolders)});
  }
  return {};
}

void CowrieStream::AddInfo(Json& info, const ReadContext& /*context*/) const {
  info.update({{"format", "cowrie_stream"},
               {"framing", frames_ ? "frames" : "lengths"},
               {"entries", records_.size()}});
}

Status CowrieStream::AddFacts(const ReadContext& /*context*/,
                              Facts& facts) const {
  facts.Add("records", records_.size(), "records");
  return {};
}

uint64_t CowrieStream::PayloadSize(uint32_t record) const {
  const StreamRecord& one = records_[record];
  return one.has(StreamRecord::kPacked) ? one.raw : one.payload;
}

Error CowrieStream::At(uint32_t record, Error error) const {
  error.offset = records_[record].offset;
  return Within(fmt::format("record {}", record), std::move(error));
}

Status CowrieStream::Verify(uint32_t number, Bytes frame) const {
  const StreamRecord& record = records_[number];
  if (!record.has(StreamRecord::kChecksum) || !options_.verify) return {};
  AtomicVerdict& verdict = verdicts_[number];
  Verdict known = verdict.load(std::memory_order_acquire);
  if (known == Verdict::kUnknown) {
    known = MatchesFrameChecksum(frame, record.checksum) ? Verdict::kPassed
                                                         : Verdict::kFailed;
    verdict.store(known, std::memory_order_release);
  }
  if (known == Verdict::kPassed) return {};
  return Error{Code::kChecksum, "its CRC-32 does not match"};
}

Status CowrieStream::Unpack(const StreamRecord& record, Loaded& loaded,
                            const ReadContext& context) const {
  if (!record.has(StreamRecord::kZstd) && !record.has(StreamRecord::kGzip)) {
    return Error{Code::kCorrupt, "it is packed by an unknown codec"};
  }
  CTXFS_TRY(HeapAllowance::Admit(record.raw));
  loaded.unpacked.emplace(static_cast<size_t>(record.raw));
  const MutableBytes plain = loaded.unpacked->span();
  // If both flags are set, the codec is zstd.
  CTXFS_TRY(record.has(StreamRecord::kZstd)
                ? DecodeZstd(loaded.payload, plain, context.interrupt())
                : DecodeGzip(loaded.payload, plain, context.interrupt()));
  loaded.payload = std::as_const(*loaded.unpacked).span();
  return {};
}

Result<CowrieStream::Loaded> CowrieStream::Read(
    uint32_t number, const ReadContext& context) const {
  const StreamRecord& record = records_[number];
  for (const uint64_t size : {uint64_t{record.payload}, PayloadSize(number),
                              uint64_t{record.metadata}}) {
    if (size <= kMaxBytes) continue;
    return Error{
        Code::kCorrupt,
        fmt::format("{} bytes are over the limit of {}", size, kMaxBytes)};
  }
  Loaded loaded;
  const uint64_t size = record.payload_end() - record.offset;
  CTXFS_TRY(HeapAllowance::Admit(size));
  loaded.frame =
      CTXFS_TRY(ReadBuffer(*source(), record.offset, size, "record", context));
  const Bytes frame = std::as_const(loaded.frame).span();
  CTXFS_TRY(Verify(number, frame));
  loaded.metadata = frame.subspan(record.header, record.metadata);
  loaded.payload = frame.subspan(record.header + size_t{record.metadata});
  if (record.has(StreamRecord::kPacked)) {
    CTXFS_TRY(Unpack(record, loaded, context));
  }
  return loaded;
}

Result<Json> CowrieStream::Value(uint32_t record,
                                 const ReadContext& context) const {
  const Result<Loaded> loaded = Read(record, context);
  if (!loaded) return At(record, loaded.error());
  Result<CowrieValue> value = ReadCowrie(loaded->payload, context.interrupt());
  if (!value) return At(record, std::move(value).error());
  return std::move(value->json);
}

Result<Json> CowrieStream::RecordMetadata(uint32_t record,
                                          const ReadContext& context) const {
  const Result<Loaded> loaded = Read(record, context);
  if (!loaded) return At(record, loaded.error());
  Result<CowrieValue> value = ReadCowrie(loaded->metadata, context.interrupt());
  if (!value) return At(record, std::move(value).error());
  return std::move(value->json);
}

Result<std::shared_ptr<const Container>> CowrieStream::Arrays(
    uint32_t number, const ReadContext& context) const {
  Result<Loaded> loaded = Read(number, context);
  if (!loaded) return At(number, std::move(loaded).error());
  Result<CowrieValue> value = ReadCowrie(loaded->payload, context.interrupt());
  if (!value) return At(number, std::move(value).error());
  const StreamRecord& record = records_[number];
  std::optional<Buffer> bytes = std::move(value->unpacked);
  if (!bytes) bytes = std::move(loaded->unpacked);
  const bool packed = bytes.has_value();
  std::shared_ptr<const Source> data;
  if (packed) {
    data = std::make_shared<const UnpackedSource>(source(), *std::move(bytes));
  } else {
    data = std::make_shared<const SliceSource>(source(), record.payload_at(),
                                               record.payload);
  }
  return std::shared_ptr<const Container>(std::make_shared<const RecordArrays>(
      source(), ArrayFiles(std::move(value->arrays), std::move(data), packed,
                           VerifiedOf(number))));
}

std::string CowrieStream::VerifiedOf(uint32_t record) const {
  if (!records_[record].has(StreamRecord::kChecksum)) return "none";
  return VerifiedText(verdicts_[record].load(std::memory_order_acquire));
}

EntryInfo CowrieStream::Describe(uint32_t number) const {
  const StreamRecord& record = records_[number];
  EntryInfo info;
  info.name = RecordName(number, ".json");
  info.kind = "record";
  info.size = PayloadSize(number);
  info.stored_size = record.payload;
  info.offset = record.payload_at();
  info.codec = "cowrie";
  info.verified = VerifiedOf(number);
  if (!frames_) return info;
  if (record.has(StreamRecord::kChecksum)) {
    info.checksum = fmt::format("crc32:{:08x}", record.checksum);
  }
  info.extra = {{"type_id", fmt::format("{:08x}", record.type)},
                {"flags", record.flags}};
  return info;
}

std::shared_ptr<const FileTable> CowrieStream::RecordFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kEntries,
                     .directory = "records",
                     .shared = true},
       .count = count(),
       .path = [](uint32_t record, std::string& scratch) -> std::string_view {
         return scratch = RecordName(record, ".json");
       },
       .open =
           [self = Share(*this)](uint32_t record, const ReadContext& context) {
             const auto make =
                 [self,
                  record](const ReadContext& request) -> Result<std::string> {
               return FormatJson(CTXFS_TRY(self->Value(record, request)));
             };
             return CachedText({self->owner_, 2ULL * record}, self->source(),
                               make, context);
           },
       .describe =
           [this](uint32_t record, const ReadContext& /*context*/) {
             return Describe(record);
           },
       .owner = Share(*this)});
}

std::shared_ptr<const FileTable> CowrieStream::MetadataFiles() const {
  return MakeTable(
      {.placement = {.directory = "records"},
       .count = count(),
       .path = [this](uint32_t record,
                      std::string& scratch) -> std::optional<std::string_view> {
         if (!records_[record].has_metadata()) return std::nullopt;
         return scratch = RecordName(record, ".meta.json");
       },
       .open =
           [self = Share(*this)](uint32_t record, const ReadContext& context) {
             const auto make =
                 [self,
                  record](const ReadContext& request) -> Result<std::string> {
               return FormatJson(
                   CTXFS_TRY(self->RecordMetadata(record, request)));
             };
             return CachedText({self->owner_, 2ULL * record + 1},
                               self->source(), make, context);
           },
       .owner = Share(*this)});
}

Container::Tables CowrieStream::Files() const {
  Tables files = {RecordFiles()};
  files.push_back(MetadataFiles());
  if (count() > 0) files.push_back(RecordLines(Share(*this)));
  return files;
}

std::vector<ChildContainer> CowrieStream::Children() const {
  std::vector<ChildContainer> arrays;
  const auto folders = static_cast<uint32_t>(
      std::min<size_t>(records_.size(), kMaxArrayFolders));
  arrays.reserve(folders);
  for (uint32_t record = 0; record < folders; ++record) {
    ChildContainer folder;
    folder.path = "arrays/" + RecordName(record, "");
    folder.open = [self = Share(*this), record](const ReadContext& context)
        -> Result<std::shared_ptr<const Container>> {
      auto opened = self->Arrays(record, context);
      if (opened || !opened.error().Permanent()) return opened;
      return UnreadableContainer(self->source(), std::move(opened).error());
    };
    arrays.push_back(std::move(folder));
  }
  return arrays;
}

namespace {

bool ProbeStream(Bytes head) {
  return StartsLikeFrames(head) || StartsLikeLengths(head);
}

}  // namespace

}  // namespace ctxfs::cowrie

namespace ctxfs {

extern const Format kCowrieStream{
    .name = "cowrie_stream",
    .contents = "streams of structured values with tensors",
    .extensions = "sjst cws",
    .golden = "cowrie",
    .docs = "cowrie",
    .probe = &cowrie::ProbeStream,
    .open = &OpenAs<cowrie::CowrieStream>,
    .traits = {.optional_checksums = true}};

}  // namespace ctxfs
