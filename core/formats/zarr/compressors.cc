// SPDX-License-Identifier: Apache-2.0
//
// Codecs of bytes: compression and checksums (docs/formats/zarr.md, section 4).
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/blosc.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/codec/stream.h"
#include "core/formats/zarr/chain.h"

namespace ctxfs::zarr {
namespace {

/// Decodes the output of one codec to `size` bytes. If `size` is nullopt, `in`
/// determines the size, which is at most limits::kDecodedBytes.
using Decompress = Result<Buffer> (*)(Bytes in, std::optional<uint64_t> size,
                                      const Interrupt& interrupt);

using DecodeInto = Status (*)(Bytes in, MutableBytes out,
                              const Interrupt& interrupt);

Result<Buffer> DecodeExactly(DecodeInto decode, Bytes in, uint64_t size,
                             const Interrupt& interrupt) {
  Buffer out(static_cast<size_t>(size));
  CTXFS_TRY(decode(in, out.span(), interrupt));
  return out;
}

template <StreamDecoder kDecode>
Result<Buffer> DecompressStream(Bytes in, std::optional<uint64_t> size,
                                const Interrupt& interrupt) {
  std::string out;
  CTXFS_TRY(kDecode(
      [&in] { return Result<Bytes>(std::exchange(in, {})); },
      {size.value_or(limits::kDecodedBytes), kMaxStreamMemory, !size},
      [&out](Bytes piece) { return AppendAdmitted(out, AsText(piece)); },
      interrupt));
  return BufferOf(out);
}

template <DecodeInto kExactly, StreamDecoder kStream>
Result<Buffer> Inflate(Bytes in, std::optional<uint64_t> size,
                       const Interrupt& interrupt) {
  if (!size) return DecompressStream<kStream>(in, size, interrupt);
  return DecodeExactly(kExactly, in, *size, interrupt);
}

Result<Buffer> DecompressZstd(Bytes in, std::optional<uint64_t> size,
                              const Interrupt& interrupt) {
  if (size) return DecodeExactly(&DecodeZstd, in, *size, interrupt);
  ZstdFrame frame =
      CTXFS_TRY(DecodeZstdFrame(in, limits::kDecodedBytes, interrupt));
  return std::move(frame.bytes);
}

Result<uint64_t> Lz4Size(Bytes in) {
  if (in.size() >= sizeof(uint32_t))
    return uint64_t{LoadLe<uint32_t>(in.data())};
  return CheckSize(in.size(), sizeof(uint32_t)).error();
}

Status DecodeSizedLz4(Bytes in, MutableBytes out, const Interrupt& interrupt) {
  return DecodeLz4(in.subspan(sizeof(uint32_t)), out, interrupt);
}

/// Decodes the output of a codec that stores the decoded size. That size is not
/// compared with the stored bytes, because compressors of blosc have no common
/// ratio: 4 bytes of LZ4 decode to at most 1 KiB, 4 bytes of others to more.
template <Result<uint64_t> (*kSizeOf)(Bytes), DecodeInto kDecode>
Result<Buffer> DecompressSized(Bytes in, std::optional<uint64_t> size,
                               const Interrupt& interrupt) {
  const uint64_t declared = CTXFS_TRY(kSizeOf(in));
  if (size) CTXFS_TRY(CheckSize(declared, *size));
  if (declared > limits::kDecodedBytes) {
    return OverLimit(fmt::format("{} decoded bytes are", declared),
                     limits::kDecodedBytes, 0);
  }
  CTXFS_TRY(HeapAllowance::Admit(declared));
  return DecodeExactly(kDecode, in, declared, interrupt);
}

void PushCompressor(Decompress decompress, bool checks, ChainBuilder& chain) {
  chain.Push(
      [decompress, size = chain.bytes](Coded& coded,
                                       const ReadContext& context) -> Status {
        Result<Buffer> out = decompress(coded.bytes, size, context.interrupt());
        if (!out) {
          Error error = std::move(out).error();
          if (error.offset == kNoOffset && error.Permanent()) error.offset = 0;
          return error;
        }
        coded.Set(*std::move(out));
        return {};
      },
      std::nullopt, checks);
}

template <Decompress kDecompress, bool kChecks>
Status AddCompressor(const Json& /*configuration*/, ChainBuilder& chain) {
  PushCompressor(kDecompress, kChecks, chain);
  return {};
}

/// Frames have a checksum only if the configuration says so; by default writers
/// add none.
Status AddZstd(const Json& configuration, ChainBuilder& chain) {
  const Json* const checksum = MemberAt(configuration, "checksum");
  PushCompressor(&DecompressZstd, checksum != nullptr && *checksum == true,
                 chain);
  return {};
}

Status AddLzma(const Json& configuration, ChainBuilder& chain) {
  if (CountAt(configuration, "format").value_or(1) != 1) {
    return UnreadCodec("lzma in a format other than xz");
  }
  PushCompressor(&DecompressStream<&DecodeXzStream>, /*checks=*/true, chain);
  return {};
}

/// Undoes a shuffle, which has stored byte j of element i at j * n + i, where n
/// is the number of elements.
Status UndoShuffle(Coded& coded, size_t unit) {
  const Bytes in = coded.bytes;
  if (in.size() % unit != 0) {
    return Error{Code::kCorrupt, "shuffle: the bytes are no whole elements", 0};
  }
  Buffer out(in.size());
  const size_t count = in.size() / unit;
  for (size_t j = 0; j < unit && count > 0; ++j) {
    const std::byte* const from = in.data() + j * count;
    for (size_t i = 0; i < count; ++i) out.data()[i * unit + j] = from[i];
  }
  coded.Set(std::move(out));
  return {};
}

Status AddShuffle(const Json& configuration, ChainBuilder& chain) {
  const uint64_t unit = CountAt(configuration, "elementsize").value_or(4);
  if (unit == 0) return BadCodecs("shuffle has elements of no bytes");
  chain.Push(
      [unit](Coded& coded, const ReadContext& /*context*/) {
        return UndoShuffle(coded, static_cast<size_t>(unit));
      },
      chain.bytes);
  return {};
}

uint32_t Adler32(Bytes bytes) {
  return static_cast<uint32_t>(
      adler32_z(1, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Compares the stored checksum with that of the other bytes, and removes it.
Status UndoChecksum(Coded& coded, uint32_t (*sum)(Bytes), bool at_start) {
  constexpr size_t kSize = sizeof(uint32_t);
  const Bytes in = coded.bytes;
  if (in.size() < kSize) return CheckSize(in.size(), kSize);
  const size_t at = at_start ? 0 : in.size() - kSize;
  const uint32_t wanted = LoadLe<uint32_t>(in.data() + at);
  coded.bytes = at_start ? in.subspan(kSize) : in.first(at);
  const uint32_t found = sum(coded.bytes);
  if (found == wanted) return {};
  return Error{Code::kChecksum,
               fmt::format("checksum mismatch: {:08x} is stored, and the bytes "
                           "have {:08x}",
                           wanted, found),
               at};
}

template <uint32_t (*kSum)(Bytes), bool kAtStart>
Status AddChecksum(const Json& configuration, ChainBuilder& chain) {
  const std::string location = TextAt(configuration, "location");
  if (!location.empty() && location != "start" && location != "end") {
    return BadCodecs("the location of a checksum is neither start nor end");
  }
  const bool at_start = location.empty() ? kAtStart : location == "start";
  chain.Push(
      [at_start](Coded& coded, const ReadContext& /*context*/) {
        return UndoChecksum(coded, kSum, at_start);
      },
      chain.bytes ? CheckedAdd(*chain.bytes, sizeof(uint32_t)) : std::nullopt,
      /*checks=*/true);
  return {};
}

uint32_t PlainCrc32(Bytes bytes) { return Crc32(bytes); }
uint32_t PlainCrc32c(Bytes bytes) { return Crc32c(bytes); }

constexpr auto kBytes = ChunkCodec::Stage::kBytes;

constexpr ChunkCodec kByteCodecs[] = {
    {"zstd", kBytes, &AddZstd},
    {"gzip", kBytes,
     &AddCompressor<&Inflate<&DecodeGzip, &DecodeGzipStream>, true>},
    {"zlib", kBytes,
     &AddCompressor<&Inflate<&DecodeZlib, &DecodeZlibStream>, true>},
    {"bz2", kBytes,
     &AddCompressor<&DecompressStream<&DecodeBzip2Stream>, true>},
    {"lzma", kBytes, &AddLzma},
    {"lz4", kBytes,
     &AddCompressor<&DecompressSized<&Lz4Size, &DecodeSizedLz4>, false>},
    {"blosc", kBytes,
     &AddCompressor<&DecompressSized<&BloscSize, &DecodeBlosc>, false>},
    {"shuffle", kBytes, &AddShuffle},
    {"crc32c", kBytes, &AddChecksum<&PlainCrc32c, false>},
    {"crc32", kBytes, &AddChecksum<&PlainCrc32, true>},
    {"adler32", kBytes, &AddChecksum<&Adler32, true>},
    {"fletcher32", kBytes, &AddChecksum<&Fletcher32, false>},
};

}  // namespace

std::span<const ChunkCodec> ByteCodecs() { return kByteCodecs; }

uint32_t Fletcher32(Bytes bytes) {
  constexpr uint64_t kModulus = 65535;
  uint64_t sum1 = 0;
  uint64_t sum2 = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    uint64_t word = std::to_integer<uint64_t>(bytes[i]) << 8;
    if (i + 1 < bytes.size()) word |= std::to_integer<uint64_t>(bytes[i + 1]);
    sum1 = (sum1 + word) % kModulus;
    sum2 = (sum2 + sum1) % kModulus;
  }
  return static_cast<uint32_t>(sum2 << 16 | sum1);
}

}  // namespace ctxfs::zarr
