// SPDX-License-Identifier: Apache-2.0
//
// Undoes the codecs of a chunk (docs/formats/zarr.md, section 4).
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/blosc.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/codec/stream.h"
#include "core/formats/zarr/chain.h"

namespace ctxfs::zarr {
namespace {

Error WrongSize(uint64_t found, uint64_t wanted) {
  return {Code::kCorrupt,
          fmt::format("{} bytes are there instead of {}", found, wanted), 0};
}

uint32_t ChecksumOf(StepKind kind, Bytes bytes) {
  switch (kind) {
    case StepKind::kCrc32c:
      return Crc32c(bytes);
    case StepKind::kCrc32:
      return Crc32(bytes);
    case StepKind::kAdler32:
      return static_cast<uint32_t>(adler32_z(
          1, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    default:
      return Fletcher32(bytes);
  }
}

/// The bytes of a step with a checksum, which matches.
Result<Bytes> CheckedBytes(const Step& step, Bytes in) {
  constexpr size_t kSize = sizeof(uint32_t);
  if (in.size() < kSize) return WrongSize(in.size(), kSize);
  const size_t at = step.at_start ? 0 : in.size() - kSize;
  const uint32_t wanted = LoadLe<uint32_t>(in.data() + at);
  const Bytes rest =
      step.at_start ? in.subspan(kSize) : in.first(in.size() - kSize);
  const uint32_t found = ChecksumOf(step.kind, rest);
  if (found == wanted) return rest;
  return Error{Code::kChecksum,
               fmt::format("checksum mismatch: {:08x} is stored, and the bytes "
                           "have {:08x}",
                           wanted, found),
               at};
}

Result<Buffer> DecodeExactly(const Step& step, Bytes in, uint64_t size,
                             const Interrupt& interrupt) {
  Buffer out(static_cast<size_t>(size));
  const auto stream = [&](StreamDecoder decode) -> Status {
    MutableBytes left = out.span();
    return decode([&in] { return Result<Bytes>(std::exchange(in, {})); },
                  {size, kMaxStreamMemory},
                  [&left](Bytes piece) {
                    std::ranges::copy(piece, left.begin());
                    left = left.subspan(piece.size());
                    return Status();
                  },
                  interrupt);
  };
  Status done;
  switch (step.kind) {
    case StepKind::kZstd:
      done = DecodeZstd(in, out.span(), interrupt);
      break;
    case StepKind::kGzip:
      done = DecodeGzip(in, out.span(), interrupt);
      break;
    case StepKind::kZlib:
      done = DecodeZlib(in, out.span(), interrupt);
      break;
    case StepKind::kBzip2:
      done = stream(&DecodeBzip2Stream);
      break;
    case StepKind::kXz:
      done = stream(&DecodeXzStream);
      break;
    case StepKind::kLz4:
      done = DecodeLz4(in.subspan(sizeof(uint32_t)), out.span(), interrupt);
      break;
    default:
      done = DecodeBlosc(in, out.span(), interrupt);
  }
  if (done) return out;
  Error error = std::move(done).error();
  if (error.offset == kNoOffset && error.Permanent()) error.offset = 0;
  return error;
}

/// Decodes a stream of unknown size, at most limits::kDecodedBytes.
Result<Buffer> DecodeOpenEnded(StreamDecoder decode, Bytes in,
                               const Interrupt& interrupt) {
  std::string out;
  CTXFS_TRY(
      decode([&in] { return Result<Bytes>(std::exchange(in, {})); },
             {limits::kDecodedBytes, kMaxStreamMemory, true},
             [&out](Bytes piece) { return AppendAdmitted(out, AsText(piece)); },
             interrupt));
  return BufferOf(out);
}

/// The decoded size that the bytes themselves declare; 0 if none do.
Result<uint64_t> DeclaredSize(StepKind kind, Bytes in) {
  if (kind == StepKind::kBlosc) return BloscSize(in);
  if (kind != StepKind::kLz4) return uint64_t{0};
  if (in.size() < sizeof(uint32_t)) return WrongSize(in.size(), 4);
  return uint64_t{LoadLe<uint32_t>(in.data())};
}

Result<Buffer> DecodeUnsized(const Step& step, Bytes in,
                             const Interrupt& interrupt) {
  switch (step.kind) {
    case StepKind::kZstd: {
      ZstdFrame frame =
          CTXFS_TRY(DecodeZstdFrame(in, limits::kDecodedBytes, interrupt));
      return std::move(frame.bytes);
    }
    case StepKind::kGzip:
      return DecodeOpenEnded(&DecodeGzipStream, in, interrupt);
    case StepKind::kZlib:
      return DecodeOpenEnded(&DecodeZlibStream, in, interrupt);
    case StepKind::kBzip2:
      return DecodeOpenEnded(&DecodeBzip2Stream, in, interrupt);
    case StepKind::kXz:
      return DecodeOpenEnded(&DecodeXzStream, in, interrupt);
    default:
      break;
  }
  // 4 stored bytes decode to at most 1 KiB of LZ4, and to more with the other
  // compressors of blosc, whose blocks are at most as large as the whole.
  const uint64_t size = CTXFS_TRY(DeclaredSize(step.kind, in));
  if (size > limits::kDecodedBytes) {
    return OverLimit(fmt::format("{} decoded bytes are", size),
                     limits::kDecodedBytes, 0);
  }
  CTXFS_TRY(HeapAllowance::Admit(size));
  return DecodeExactly(step, in, size, interrupt);
}

Result<Buffer> Decompress(const Step& step, Bytes in,
                          const Interrupt& interrupt) {
  if (!step.decoded) return DecodeUnsized(step, in, interrupt);
  if (step.kind == StepKind::kLz4 || step.kind == StepKind::kBlosc) {
    const uint64_t declared = CTXFS_TRY(DeclaredSize(step.kind, in));
    if (declared != *step.decoded) return WrongSize(declared, *step.decoded);
  }
  return DecodeExactly(step, in, *step.decoded, interrupt);
}

/// Byte j of element i is at j * n + i.
Result<Buffer> Unshuffle(const Step& step, Bytes in) {
  if (in.size() % step.unit != 0) {
    return Error{Code::kCorrupt, "shuffle: the bytes are no whole elements", 0};
  }
  Buffer out(in.size());
  const size_t count = in.size() / step.unit;
  for (size_t j = 0; j < step.unit && count > 0; ++j) {
    const std::byte* const from = in.data() + j * count;
    for (size_t i = 0; i < count; ++i) out.data()[i * step.unit + j] = from[i];
  }
  return out;
}

bool IsChecksum(StepKind kind) {
  return kind == StepKind::kCrc32c || kind == StepKind::kCrc32 ||
         kind == StepKind::kAdler32 || kind == StepKind::kFletcher32;
}

bool IsOfArray(StepKind kind) { return kind <= StepKind::kPackBits; }

Result<Buffer> UndoOne(const Step& step, Bytes in, const Interrupt& interrupt) {
  if (step.kind == StepKind::kShuffle) return Unshuffle(step, in);
  if (!IsOfArray(step.kind)) return Decompress(step, in, interrupt);
  Buffer out(static_cast<size_t>(*step.decoded));
  CTXFS_TRY(UndoFilter(step, in, out.span()));
  return out;
}

Buffer CopyOf(Bytes bytes) { return BufferOf(AsText(bytes)); }

}  // namespace

uint32_t Fletcher32(Bytes bytes) {
  constexpr uint64_t kModulus = 65535;
  uint64_t sum1 = 0;
  uint64_t sum2 = 0;
  const auto add = [&](uint64_t word) {
    sum1 = (sum1 + word) % kModulus;
    sum2 = (sum2 + sum1) % kModulus;
  };
  size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2) {
    add(std::to_integer<uint64_t>(bytes[i]) << 8 |
        std::to_integer<uint64_t>(bytes[i + 1]));
  }
  if (i < bytes.size()) add(std::to_integer<uint64_t>(bytes[i]) << 8);
  return static_cast<uint32_t>(sum2 << 16 | sum1);
}

Result<Buffer> UndoSteps(const std::vector<Step>& steps, Bytes stored,
                         const ReadContext& context) {
  Buffer kept;
  Bytes bytes = stored;
  bool owned = false;  // whether `kept` is all of `bytes`
  for (size_t i = steps.size(); i-- > 0;) {
    const Step& step = steps[i];
    CTXFS_TRY(context.Check());
    if (IsChecksum(step.kind)) {
      bytes = CTXFS_TRY(CheckedBytes(step, bytes));
      owned = false;
    } else {
      kept = CTXFS_TRY(UndoOne(step, bytes, context.interrupt()));
      bytes = kept.span();
      owned = true;
    }
    if (step.decoded && bytes.size() != *step.decoded) {
      return WrongSize(bytes.size(), *step.decoded);
    }
  }
  return owned ? std::move(kept) : CopyOf(bytes);
}

}  // namespace ctxfs::zarr
