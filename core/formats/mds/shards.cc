// SPDX-License-Identifier: Apache-2.0
//
// The files of shards (docs/formats/mds.md, sections 1, 5 and 7).
#include "core/formats/mds/shards.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/codec/codec.h"
#include "core/codec/stream.h"
#include "core/content/read_through.h"
#include "core/formats/mds/limits.h"
#include "core/io/stamp.h"

namespace ctxfs::mds {
namespace {

/// Decodes `stored` by a StreamDecoder into all of `out`.
Status DecodeStream(StreamDecoder decode, Bytes stored, MutableBytes out,
                    const Interrupt& interrupt) {
  const NextBytes next = [stored]() mutable -> Result<Bytes> {
    return std::exchange(stored, {});
  };
  const ByteSink sink = [out](Bytes decoded) mutable -> Status {
    std::ranges::copy(decoded, out.begin());
    out = out.subspan(decoded.size());
    return {};
  };
  return decode(next, {out.size(), kMaxStreamMemory}, sink, interrupt);
}

Status DecodeZip(ZipKind kind, Bytes stored, MutableBytes out,
                 const Interrupt& interrupt) {
  switch (kind) {
    case ZipKind::kBrotli:
      return DecodeStream(&DecodeBrotliStream, stored, out, interrupt);
    case ZipKind::kBzip2:
      return DecodeStream(&DecodeBzip2Stream, stored, out, interrupt);
    case ZipKind::kGzip:
      return DecodeGzip(stored, out, interrupt);
    case ZipKind::kSnappy:
      return DecodeSnappy(stored, out, interrupt);
    default:
      return DecodeZstd(stored, out, interrupt);
  }
}

/// Compares a computed hash with the expected one. `bytes` names the hashed
/// bytes in the message.
Status Conclude(Hasher& hasher, const ExpectedHash& hash,
                const std::string& bytes) {
  const std::string hex = hasher.Hex();
  if (hex.empty()) return Error{Code::kNoMemory, "no digests"};
  if (hex == hash.hex) return {};
  return Error{Code::kChecksum,
               fmt::format("{} are not {}", bytes, hash.Text()), 0};
}

Status Compare(const ExpectedHash& hash, Bytes bytes,
               const Interrupt& interrupt) {
  constexpr size_t kPiece = limits::kMiB;
  Hasher hasher(hash.algorithm);
  for (Bytes left = bytes; !left.empty();) {
    CTXFS_TRY(interrupt.Check());
    const Bytes piece = left.first(std::min(left.size(), kPiece));
    hasher.Update(piece);
    left = left.subspan(piece.size());
  }
  return Conclude(hasher, hash,
                  fmt::format("checksum mismatch: {} bytes", bytes.size()));
}

/// Compares `bytes` with all hashes that the index has of the file `of`. Fails
/// with kChecksum if one differs; the message begins with `label`.
Status Compare(const StoredFile& of, const Content& bytes,
               const std::string& label, const ReadContext& context) {
  for (const ExpectedHash& hash : of.hashes) {
    Hasher hasher(hash.algorithm);
    CTXFS_TRY(ReadThrough(bytes, context, [&hasher](Bytes piece) {
      hasher.Update(piece);
      return Status();
    }));
    CTXFS_TRY(Conclude(hasher, hash, label + ": checksum mismatch: its bytes"));
  }
  return {};
}

}  // namespace

/// The decoded bytes of a compressed shard.
class DecodedShard final : public Block {
 public:
  DecodedShard(Key key, std::shared_ptr<const Shards> shards, uint32_t shard,
               SourcePtr source)
      : Block(key),
        shards_(std::move(shards)),
        shard_(shard),
        source_(std::move(source)) {}

  uint64_t cost() const override {
    return shards_->record(shard_).raw.bytes + source_->size();
  }
  bool verifies() const override { return shards_->HasHash(shard_); }
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Result<Buffer> decoded = shards_->Decode(shard_, source_, context);
    if (decoded) return decoded;
    return Within(shards_->Label(shard_), std::move(decoded).error());
  }

 private:
  const std::shared_ptr<const Shards> shards_;
  const uint32_t shard_;
  const SourcePtr source_;
};

Content ShardFile::Part(uint64_t offset, uint64_t length) const {
  if (block != nullptr) return {Decoded{block, offset}, length};
  return {Range{source, offset, guard}, length};
}

std::string Shards::Label(uint32_t shard) const {
  return "shard " + Quote(states_.empty() || states_[shard].form == Form::kRaw
                              ? record(shard).raw.name
                              : record(shard).zip->name);
}

uint32_t Shards::ShardOf(uint32_t sample) const {
  // Of several shards whose first sample is `sample`, all but the last are
  // empty.
  const auto after =
      std::ranges::upper_bound(index_.shards, sample, {}, &ShardRecord::first);
  return static_cast<uint32_t>(after - index_.shards.begin()) - 1;
}

Result<SourcePtr> Shards::OpenNamed(const std::string& name,
                                    const Request& request) const {
  if (name.find('\0') != std::string::npos) {
    return Error{Code::kCorrupt, "a NUL byte in the name"};
  }
  return folder_->is_directory() ? folder_->OpenBeside(name, request)
                                 : folder_->OpenSibling(name, request);
}

Result<std::vector<Warning>> Shards::Load(const Request& request) {
  CTXFS_TRY(HeapAllowance::Admit(count() * sizeof(State)));
  states_ = std::vector<State>(count());
  std::vector<ctxfs::Warning> warnings;
  uint32_t others = 0;
  for (uint32_t i = 0; i < count(); ++i) {
    CTXFS_TRY(request.Check());
    CTXFS_TRY(Examine(i, request));
    const std::optional<Error> fault = Fault(i);
    if (!fault) continue;
    if (warnings.size() < kMaxWarnings) {
      warnings.push_back({fault->what, kNoOffset, Severity::kDamage});
    } else {
      ++others;
    }
  }
  if (others > 0) {
    warnings.push_back({fmt::format("and {} more shards", others), kNoOffset,
                        Severity::kDamage});
  }
  return warnings;
}

Status Shards::Examine(uint32_t shard, const Request& request) {
  const ShardRecord& of = record(shard);
  State& state = states_[shard];
  if (options_.alone) {
    state.fault = Trouble::kNotOpened;
    return {};
  }
  CTXFS_TRY(Examine(shard, Form::kRaw, of.raw, request));
  const Trouble raw = state.fault;
  if (raw != Trouble::kNone && of.zip) {
    CTXFS_TRY(Examine(shard, Form::kZip, *of.zip, request));
    // If there is no compressed file, the fault of the raw file says more.
    if (state.fault == Trouble::kMissing && raw != Trouble::kMissing) {
      state.form = Form::kRaw;
      state.fault = raw;
    }
  }
  if (state.fault == Trouble::kNone && of.other_columns) {
    state.fault = Trouble::kColumns;
  }
  return {};
}

Status Shards::Examine(uint32_t shard, Form form, const StoredFile& file,
                       const Request& request) {
  State& state = states_[shard];
  state.form = form;
  const Result<SourcePtr> source = OpenNamed(file.name, request);
  if (!source) {
    const Error& error = source.error();
    if (options_.FailsWith(error)) return Within(Quote(file.name), error);
    state.fault = error.code == Code::kNotFound  ? Trouble::kMissing
                  : error.code == Code::kCorrupt ? Trouble::kOutside
                                                 : Trouble::kUnreadable;
    return {};
  }
  stored_bytes_ += (*source)->stored_size();
  state.stamp = StampOf((*source)->identity());
  state.fault = (*source)->size() != file.bytes ? Trouble::kSize
                : form == Form::kZip            ? TroubleOfZip(record(shard))
                                                : Trouble::kNone;
  return {};
}

Shards::Trouble Shards::TroubleOfZip(const ShardRecord& record) const {
  const uint64_t most =
      limits::kWorkBytes + limits::kWorkFactor * record.zip->bytes;
  if (record.zip_kind == ZipKind::kNone ||
      record.zip_kind == ZipKind::kUnknown) {
    return Trouble::kCompression;
  }
  return record.raw.bytes > std::min(most, kMaxDecoded) ? Trouble::kLimit
                                                        : Trouble::kNone;
}

std::optional<Error> Shards::Fault(uint32_t shard) const {
  struct Fault {
    Code code;
    const char* text;  // {0} label, {1} file's bytes, {2} decoded bytes
  };
  static constexpr Fault kFaults[] = {
      {Code::kCorrupt, ""},
      {Code::kCorrupt, "{0} is missing"},
      {Code::kCorrupt, "{0} is outside the folder"},
      {Code::kCorrupt, "{0} cannot be read"},
      {Code::kCorrupt, "{0} does not have the {1} bytes of the index"},
      {Code::kCorrupt, "columns: {0} has other columns than the first shard"},
      {Code::kCorrupt, "{0} is not opened"},
      {Code::kLimit, "{0} decodes to {2} bytes, which is over the limit"},
      {Code::kUnsupported, "{0} has an unknown compression"}};
  const Trouble trouble = states_[shard].fault;
  if (trouble == Trouble::kNone) return std::nullopt;
  const auto& [code, text] = kFaults[static_cast<size_t>(trouble)];
  return Error{code, fmt::format(fmt::runtime(text), Label(shard),
                                 File(shard).bytes, record(shard).raw.bytes)};
}

bool Shards::HasHash(uint32_t shard) const {
  const ShardRecord& of = record(shard);
  return options_.verify && (of.raw.hash() != nullptr ||
                             (compressed(shard) && of.zip->hash() != nullptr));
}

std::string Shards::VerifiedText(uint32_t shard) const {
  return HasHash(shard) ? ctxfs::VerifiedText(verdict(shard)) : "none";
}

Result<SourcePtr> Shards::SourceOf(uint32_t shard,
                                   const Request& request) const {
  {
    const MutexLock lock(mutex_);
    if (const SourcePtr* const kept = open_.Use(shard)) return *kept;
  }
  SourcePtr source = CTXFS_TRY(OpenNamed(File(shard).name, request));
  if (StampOf(source->identity()) != states_[shard].stamp ||
      source->size() != File(shard).bytes) {
    return Error{Code::kStale, Label(shard) + " has changed"};
  }
  LruMap<uint32_t, SourcePtr>::Removed closed;  // closed without the lock
  const MutexLock lock(mutex_);
  closed = open_.Put(shard, source);
  if (open_.size() > kOpenFiles)
    closed.splice(closed.end(), open_.RemoveOldest());
  return source;
}

Result<ShardFile> Shards::Open(uint32_t shard, const Request& request) const {
  if (std::optional<Error> fault = Fault(shard)) return *std::move(fault);
  ShardFile file{CTXFS_TRY(SourceOf(shard, request)), nullptr, nullptr};
  const std::shared_ptr<const Shards> self = shared_from_this();
  if (compressed(shard)) {
    file.block = std::make_shared<const DecodedShard>(Key{blocks_, shard}, self,
                                                      shard, file.source);
    return file;
  }
  const ExpectedHash* const hash = record(shard).raw.hash();
  if (!options_.verify || hash == nullptr) return file;
  file.guard = std::make_shared<const ChecksumGuard>(
      Key{guards_, shard},
      ChecksumGuard::Guarded{
          .source = file.source,
          .offset = 0,
          .length = file.source->size(),
          .checksum = {},
          .hash = std::shared_ptr<const ExpectedHash>(self, hash)},
      std::shared_ptr<AtomicVerdict>(self, &VerdictOf(shard)));
  return file;
}

Result<Buffer> Shards::Decode(uint32_t shard, const SourcePtr& source,
                              const ReadContext& context) const {
  const ShardRecord& of = record(shard);
  const auto compare = [&](const StoredFile& file, Bytes bytes) -> Status {
    if (!options_.verify || file.hash() == nullptr) return {};
    Status same = Compare(*file.hash(), bytes, context.interrupt());
    if (!same && same.error().code == Code::kChecksum) {
      VerdictOf(shard) = Verdict::kFailed;
    }
    return same;
  };
  if (verdict(shard) == Verdict::kFailed) {
    return Error{Code::kChecksum, "checksum mismatch", 0};
  }
  const Buffer stored =
      CTXFS_TRY(ReadBuffer(*source, 0, source->size(), "shard", context));
  CTXFS_TRY(compare(*of.zip, stored.span()));
  CTXFS_TRY(context.CheckMemory(of.raw.bytes));
  Buffer decoded(static_cast<size_t>(of.raw.bytes));
  CTXFS_TRY(DecodeZip(of.zip_kind, stored.span(), decoded.span(),
                      context.interrupt()));
  CTXFS_TRY(compare(of.raw, decoded.span()));
  if (HasHash(shard)) VerdictOf(shard) = Verdict::kPassed;
  return decoded;
}

Status Shards::CheckHeader(uint32_t shard, Bytes header) const {
  if (KnowsHeader(shard)) return {};
  ByteReader in(header);
  const uint64_t samples = in.U32();
  const uint64_t start = in.U32();
  if (!in.ok() || samples != record(shard).samples) {
    return Error{Code::kCorrupt,
                 fmt::format("{}: {} samples, and the index says {}",
                             Label(shard), samples, record(shard).samples),
                 0};
  }
  if (samples > 0 && start < 8 + 4 * samples) {
    return Error{Code::kCorrupt,
                 fmt::format("{}: sample 0 begins in the offsets, at {}",
                             Label(shard), start),
                 4};
  }
  states_[shard].header = true;
  return {};
}

Status Shards::CompareHashes(uint32_t shard, const ReadContext& context) const {
  const ShardFile file = CTXFS_TRY(Open(shard, context));
  const Content stored(Range{file.source, 0, nullptr}, file.source->size());
  const std::string label = Label(shard);
  CTXFS_TRY(Compare(File(shard), stored, label, context));
  if (!compressed(shard)) return {};
  const StoredFile& raw = record(shard).raw;
  return Compare(raw, file.Part(0, raw.bytes), label, context);
}

}  // namespace ctxfs::mds
