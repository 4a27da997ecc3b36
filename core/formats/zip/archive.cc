// SPDX-License-Identifier: Apache-2.0
//
// Opens the bytes of members (docs/formats/zip.md, sections 5 and 7).
//
// Local header, 30 bytes: "PK\3\4", fields that the directory repeats, and at
// offset 26 the lengths of name and extra field. After it: name, extra field,
// data.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text/count_of.h"
#include "core/base/text/text.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/codec/deflate.h"
#include "core/compressed/stored_reader.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/member_block.h"
#include "core/formats/zip/methods.h"
#include "core/formats/zip/names.h"
#include "core/formats/zip/records.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {
namespace {

std::string FaultText(const Member& member) {
  const char* const text =
      kFaultWords[static_cast<size_t>(member.fault)].of_one;
  if (!member.IsOpaque()) return text;
  return "its data, " + OpaqueText(member) + ", " + text;
}

Code CodeOf(Fault fault) {
  switch (fault) {
    case Fault::kEncrypted:
      return Code::kLocked;
    case Fault::kMethod:
      return Code::kUnsupported;
    case Fault::kTooLarge:
      return Code::kLimit;
    default:
      return Code::kCorrupt;
  }
}

/// Decodes a member's first bytes. Returns false if `stored` does not fill
/// `out`, because it is too short or damaged.
bool DecodeStart(uint16_t method, Bytes stored, MutableBytes out) {
  if (method == kDeflate) {
    return DecodeDeflatePrefix(stored, out) == out.size();
  }
  if (method == kZstd) return DecodeZstdPrefix(stored, out) == out.size();
  if (stored.size() < out.size()) return false;
  std::copy_n(stored.data(), out.size(), out.data());
  return true;
}

/// Like DecodeStart, with a stream decoder.
bool StreamStart(StreamDecoder decode, StoredReader stored, uint64_t size,
                 MutableBytes out, const Request& request) {
  size_t made = 0;
  const auto take = [&out, &made](Bytes bytes) -> Status {
    const size_t length = std::min(bytes.size(), out.size() - made);
    std::copy_n(bytes.data(), length, out.data() + made);
    made += length;
    if (made < out.size()) return {};
    return Error{Code::kInterrupted, "no more is needed"};
  };
  // Ignores the status: `made` counts the decoded bytes.
  (void)decode([&] { return stored.Next(request); }, {size, kMaxStreamMemory},
               take, NeverInterrupted());
  return made == out.size();
}

}  // namespace

void OtherNames::Note(uint32_t member, uint64_t at) {
  const MutexLock lock(mutex_);
  if (noted_.size() < kMaxNoted) noted_.emplace(member, at);
}

bool OtherNames::Has(uint32_t member) const {
  const MutexLock lock(mutex_);
  return noted_.contains(member);
}

std::optional<Warning> OtherNames::Warn() const {
  const MutexLock lock(mutex_);
  if (noted_.empty()) return std::nullopt;
  return Warning{
      fmt::format("local_name: the local headers of {}{} {} have another form "
                  "of the name in the directory; the first is here",
                  noted_.size() == kMaxNoted ? "at least " : "", noted_.size(),
                  NounOf(noted_.size(), "member")),
      noted_.begin()->second};
}

std::shared_ptr<const SeekableDeflate> LargeMembers::Get(
    uint32_t number, const DeflateData& data,
    std::shared_ptr<AtomicVerdict> verdict) const {
  constexpr size_t kMaxKept = 64;
  Members::Removed oldest;  // freed after unlocking
  const MutexLock lock(mutex_);
  if (const auto* const kept = kept_.Use(number)) return *kept;
  auto member =
      std::make_shared<const SeekableDeflate>(data, std::move(verdict));
  kept_.Put(number, member);
  if (kept_.size() > kMaxKept) oldest = kept_.RemoveOldest();
  return member;
}

Archive::Archive(std::shared_ptr<const Source> source, Directory directory,
                 const Options& options)
    : source_(std::move(source)),
      directory_(std::move(directory)),
      options_(options),
      verdicts_(std::make_shared<std::vector<AtomicVerdict>>(
          directory_.members.size())) {}

std::shared_ptr<AtomicVerdict> Archive::VerdictOf(uint32_t number) const {
  return {verdicts_, &(*verdicts_)[number]};
}

Checksum Archive::StoredChecksum(uint32_t number) const {
  const Member& one = member(number);
  const bool none =
      options_.zero_is_no_checksum && one.crc == 0 && one.size > 0;
  return none ? Checksum{} : Checksum{ChecksumKind::kCrc32, one.crc};
}

Checksum Archive::ExpectedChecksum(uint32_t number) const {
  return options_.verify ? StoredChecksum(number) : Checksum{};
}

std::optional<Error> Archive::MemberFault(uint32_t number) const {
  const Member& one = member(number);
  if (one.fault == Fault::kNone) return std::nullopt;
  return Error{CodeOf(one.fault),
               "member " + Quote(Name(number)) + ": " + FaultText(one),
               one.header};
}

uint64_t Archive::Size(uint32_t number) const {
  const Member& one = member(number);
  const bool known =
      one.fault == Fault::kNone || one.fault == Fault::kEncrypted;
  return known ? one.size : 0;
}

Result<uint64_t> Archive::DataOffset(uint32_t number,
                                     const Request& request) const {
  if (std::optional<Error> fault = MemberFault(number)) {
    return *std::move(fault);
  }
  const Member& one = member(number);
  const auto bad = [&](std::string what) {
    return Error{Code::kCorrupt,
                 "member " + Quote(Name(number)) + ": " + std::move(what),
                 one.header};
  };
  // Reads header and name at once, assuming that the name is as long as in the
  // directory.
  const uint64_t left = source_->size() - std::min(one.header, source_->size());
  const uint64_t whole = kLocalSize + one.name_length;
  const Buffer header = CTXFS_TRY(ReadBuffer(*source_, one.header,
                                             left < whole ? kLocalSize : whole,
                                             "local header", request));
  ByteReader in(header.span(), one.header);
  if (in.U32() != kLocalSignature) {
    return bad("there is no local header at its offset");
  }
  in.Skip(22);
  const uint64_t name_length = in.U16();
  const uint64_t data = one.header + kLocalSize + name_length + in.U16();
  if (!InBounds(data, one.stored_size, one.end)) {
    return bad(
        fmt::format("overlap: its {} bytes at {} reach into what follows at {}",
                    one.stored_size, data, one.end));
  }
  const std::string_view name = directory_.StoredName(one);
  if (name_length == name.size() && AsText(in.Take(name_length)) == name) {
    return data;
  }
  const Buffer local = CTXFS_TRY(ReadBuffer(
      *source_, one.header + kLocalSize, name_length, "local header", request));
  // With another form of the name, only a checksum can prove that the data
  // belongs to the member.
  if (!StoredChecksum(number) ||
      !AreFormsOfOneName(AsText(local.span()), name)) {
    return bad("its local header has another name");
  }
  other_names_.Note(number, one.header);
  return data;
}

Result<Content> Archive::Open(uint32_t number, const Request& request) const {
  const uint64_t data = CTXFS_TRY(DataOffset(number, request));
  const Member& one = member(number);
  const Checksum checksum = ExpectedChecksum(number);
  if (one.method == kStored) {
    std::shared_ptr<const ChecksumGuard> guard;
    if (checksum) {
      guard = std::make_shared<const ChecksumGuard>(
          Key{owner_, number},
          ChecksumGuard::Guarded{source_, data, one.stored_size, checksum},
          VerdictOf(number));
    }
    return Content(Range{source_, data, std::move(guard)}, one.size);
  }
  if (one.method == kDeflate && one.size > kMaxDecodedAtOnce) {
    return large_
        .Get(number, {source_, data, one.stored_size, one.size, checksum},
             VerdictOf(number))
        ->Open();
  }
  return Content(
      Decoded{std::make_shared<const MemberBlock>(
                  Key{owner_, number}, source_,
                  MemberData{data, one.stored_size, one.size, one.method},
                  checksum, VerdictOf(number)),
              0},
      one.size);
}

Result<Buffer> Archive::Prefix(uint32_t number, uint64_t most,
                               const Request& request) const {
  const uint64_t data = CTXFS_TRY(DataOffset(number, request));
  const Member& one = member(number);
  // Bytes to read beyond the decoded size, tried in turn. Incompressible data
  // takes slightly more than its decoded size. zstd decodes only whole blocks,
  // of up to 128 KiB.
  constexpr std::array<uint64_t, 3> kMore = {4096, 64 * limits::kKiB,
                                             limits::kMiB};
  Buffer prefix(static_cast<size_t>(std::min(most, one.size)));
  const Error bad{Code::kCorrupt, "the start of the member does not decode",
                  data};
  const StreamDecoder decoder = DecoderOf(one.method);
  if (decoder != nullptr && one.method != kZstd) {
    const uint64_t stored =
        std::min(one.stored_size, prefix.size() + limits::kMiB);
    const auto start =
        std::make_shared<const SliceSource>(source_, data, stored);
    if (StreamStart(decoder, {start, 0}, one.size, prefix.span(), request)) {
      return prefix;
    }
    return bad;
  }
  uint64_t given = 0;
  for (const uint64_t more : kMore) {
    const uint64_t size = std::min(one.stored_size, prefix.size() + more);
    if (size == given && given > 0) break;  // all data was tried
    given = size;
    const Buffer stored = CTXFS_TRY(
        ReadBuffer(*source_, data, size, "start of a member", request));
    if (DecodeStart(one.method, stored.span(), prefix.span())) return prefix;
  }
  return bad;
}

void Archive::PrefetchStarts(uint32_t from, uint32_t to) const {
  constexpr uint64_t kStart = 1024;
  std::vector<SourceRange> ranges;
  for (uint32_t number = from; number < to; ++number) {
    ranges.push_back({member(number).header, kStart});
  }
  source_->Prefetch(ranges);
}

EntryInfo Archive::Describe(uint32_t number) const {
  const Member& one = member(number);
  EntryInfo info;
  info.name = std::string(directory_.StoredName(one));
  info.kind = one.kind == Kind::kDirectory ? "directory"
              : one.kind == Kind::kLink    ? "link"
                                           : "member";
  info.size = Size(number);
  info.stored_size = one.stored_size;
  info.offset = one.header;
  info.codec = CodecText(one.method);
  info.checksum = StoredChecksum(number).Text();
  const Verdict verdict = (*verdicts_)[number].load(std::memory_order_acquire);
  info.verified = !ExpectedChecksum(number)      ? "none"
                  : verdict == Verdict::kPassed  ? "yes"
                  : verdict == Verdict::kUnknown ? "no"
                                                 : "failed";
  if (one.kind == Kind::kLink) info.note = "symbolic link";
  if (other_names_.Has(number)) {
    info.note = "its local header has another form of its name";
  }
  if (one.fault != Fault::kNone) info.note = FaultText(one);
  return info;
}

}  // namespace ctxfs::zip
