// SPDX-License-Identifier: Apache-2.0
//
// The bytes of members (docs/zip.md, sections 5 and 7).
//
// A local header, 30 bytes: "PK\3\4", fields that the directory has as well,
// and at 26 the lengths of name and extra field, which follow; then the data.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/codec/deflate.h"
#include "core/formats/zip/inflate_index.h"
#include "core/formats/zip/records.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {
namespace {

const char* FaultText(Fault fault) {
  return kFaultWords[static_cast<size_t>(fault)].of_one;
}

/// "stored", "deflate", "zstd", or "method_N" for one that is not supported.
std::string MethodName(uint16_t method) {
  switch (method) {
    case kStored:
      return "stored";
    case kDeflate:
      return "deflate";
    case kZstd:
      return "zstd";
    default:
      return "method_" + std::to_string(method);
  }
}

/// Decodes the first bytes of a member from those of its data. Returns whether
/// they fill `out`.
bool DecodeStart(uint16_t method, Bytes stored, MutableBytes out) {
  if (method == kDeflate) {
    return DecodeDeflatePrefix(stored, out) == out.size();
  }
  if (method == kZstd) return DecodeZstdPrefix(stored, out) == out.size();
  if (stored.size() < out.size()) return false;
  std::copy_n(stored.data(), out.size(), out.data());
  return true;
}

}  // namespace

/// A member decoded as a whole.
class Archive::DecodedMember final : public Block {
 public:
  DecodedMember(std::shared_ptr<const Archive> archive, uint32_t number,
                uint64_t data, Checksum checksum)
      : Block({archive->owner_, number}),
        archive_(std::move(archive)),
        member_(archive_->member(number)),
        data_(data),
        checksum_(checksum),
        verdict_(archive_->VerdictOf(number)) {}

  uint64_t cost() const override {
    return member_.size + (member_.method == kZstd ? member_.stored_size : 0);
  }
  bool verifies() const override { return static_cast<bool>(checksum_); }
  const Source* made_from() const override { return archive_->source().get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (verdict_->load(std::memory_order_acquire) == Verdict::kFailed) {
      return Error{Code::kCorrupt, "damaged: an earlier read failed", data_};
    }
    Buffer decoded(static_cast<size_t>(member_.size));
    Status done = Decode(decoded.span(), context);
    if (done && !checksum_.Matches(decoded.span())) {
      done = Error{
          Code::kChecksum,
          "checksum mismatch: the decoded bytes are not " + checksum_.Text()};
    }
    if (!done) {
      Error error = std::move(done).error();
      if (error.Permanent()) {
        verdict_->store(Verdict::kFailed, std::memory_order_release);
        error.offset = data_;
      }
      return error;
    }
    if (checksum_) verdict_->store(Verdict::kPassed, std::memory_order_release);
    return decoded;
  }

 private:
  Status Decode(MutableBytes out, const ReadContext& context) const {
    if (member_.method == kDeflate) {
      StoredPieces pieces(*archive_->source(), data_, member_.stored_size);
      return DecodeDeflate([&pieces] { return pieces.Next(); }, out,
                           context.interrupt());
    }
    const Result<Buffer> stored =
        ReadBuffer(*archive_->source(), data_, member_.stored_size, "member");
    if (!stored) return stored.error();
    return DecodeZstd(stored->span(), out, context.interrupt());
  }

  const std::shared_ptr<const Archive> archive_;
  const Member& member_;
  const uint64_t data_;
  const Checksum checksum_;
  const std::shared_ptr<AtomicVerdict> verdict_;
};

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
  const bool locked = one.fault == Fault::kEncrypted;
  return Error{locked ? Code::kLocked : Code::kCorrupt,
               "member " + Quote(Name(number)) + ": " + FaultText(one.fault),
               one.header};
}

uint64_t Archive::Size(uint32_t number) const {
  const Member& one = member(number);
  const bool known =
      one.fault == Fault::kNone || one.fault == Fault::kEncrypted;
  return known ? one.size : 0;
}

Result<uint64_t> Archive::DataOffset(uint32_t number) const {
  if (std::optional<Error> fault = MemberFault(number)) {
    return *std::move(fault);
  }
  const Member& one = member(number);
  const std::string_view name = directory_.StoredName(one);
  const auto bad = [&](std::string what) {
    return Error{Code::kCorrupt,
                 "member " + Quote(Name(number)) + ": " + std::move(what),
                 one.header};
  };
  const Result<Buffer> header = ReadBuffer(
      *source_, one.header, kLocalSize + name.size(), "local header");
  if (!header) return header.error();
  ByteReader in(header->span(), one.header);
  if (in.U32() != kLocalSignature) {
    return bad("there is no local header at its offset");
  }
  in.Skip(22);
  const uint64_t name_length = in.U16();
  const uint64_t extra_length = in.U16();
  if (name_length != name.size() || AsText(in.Take(name_length)) != name) {
    return bad("its local header has another name");
  }
  const uint64_t data = one.header + kLocalSize + name_length + extra_length;
  if (!InBounds(data, one.stored_size, one.end)) {
    return bad("overlap: its " + std::to_string(one.stored_size) +
               " bytes at " + std::to_string(data) +
               " reach into what follows at " + std::to_string(one.end));
  }
  return data;
}

Result<Content> Archive::Open(uint32_t number) const {
  const Result<uint64_t> data = DataOffset(number);
  if (!data) return data.error();
  const Member& one = member(number);
  const Checksum checksum = ExpectedChecksum(number);
  if (one.method == kStored) {
    std::shared_ptr<const ChecksumGuard> guard;
    if (checksum) {
      guard = std::make_shared<const ChecksumGuard>(
          Key{owner_, number},
          ChecksumGuard::Guarded{source_, *data, one.stored_size, checksum},
          VerdictOf(number));
    }
    return Content(Range{source_, *data, std::move(guard)}, one.size);
  }
  if (one.method == kDeflate && one.size > kMostDecodedAtOnce) {
    return indexes_
        .Get(number, {source_, *data, one.stored_size, one.size, checksum},
             VerdictOf(number))
        ->Open();
  }
  return Content(Decoded{std::make_shared<const DecodedMember>(
                             shared_from_this(), number, *data, checksum),
                         0},
                 one.size);
}

Result<Buffer> Archive::Prefix(uint32_t number, uint64_t most) const {
  const Result<uint64_t> data = DataOffset(number);
  if (!data) return data.error();
  const Member& one = member(number);
  // Data that compresses badly takes a little more than its decoded size. zstd
  // decodes a block only when it has all of it, up to 128 KiB.
  constexpr std::array<uint64_t, 3> kMore = {4096, 64 * limits::kKiB,
                                             limits::kMiB};
  Buffer prefix(static_cast<size_t>(std::min(most, one.size)));
  uint64_t given = 0;
  for (const uint64_t more : kMore) {
    const uint64_t size = std::min(one.stored_size, prefix.size() + more);
    if (size == given && given > 0) break;  // there is no more
    given = size;
    const Result<Buffer> stored =
        ReadBuffer(*source_, *data, size, "start of a member");
    if (!stored) return stored.error();
    if (DecodeStart(one.method, stored->span(), prefix.span())) return prefix;
  }
  return Error{Code::kCorrupt, "the start of the member does not decode",
               *data};
}

EntryInfo Archive::Describe(uint32_t number) const {
  const Member& one = member(number);
  EntryInfo info;
  info.name = std::string(directory_.StoredName(one));
  info.kind = one.kind == Kind::kDirectory ? "directory" : "member";
  info.size = Size(number);
  info.stored_size = one.stored_size;
  info.offset = one.header;
  info.codec = MethodName(one.method);
  info.checksum = StoredChecksum(number).Text();
  const Verdict verdict = (*verdicts_)[number].load(std::memory_order_acquire);
  info.verified = !ExpectedChecksum(number)      ? "none"
                  : verdict == Verdict::kPassed  ? "yes"
                  : verdict == Verdict::kUnknown ? "no"
                                                 : "failed";
  if (one.kind == Kind::kLink) info.note = "symbolic link";
  if (one.fault != Fault::kNone) info.note = FaultText(one.fault);
  return info;
}

}  // namespace ctxfs::zip
