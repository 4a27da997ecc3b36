// SPDX-License-Identifier: Apache-2.0
#define ZSTD_STATIC_LINKING_ONLY  // ZSTD_d_stableOutBuffer
#include <fmt/core.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/parallel.h"
#include "core/codec/codec.h"

namespace ctxfs {

bool LooksLikeZstd(Bytes stored) {
  return stored.size() >= 4 &&
         LoadLe<uint32_t>(stored.data()) == ZSTD_MAGICNUMBER;
}

namespace {

/// Returns the Error for an error code of zstd: kNoMemory if memory ran out,
/// which says nothing about the data, else kCorrupt.
Error Failure(size_t code) {
  const bool memory = ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation;
  return {memory ? Code::kNoMemory : Code::kCorrupt,
          std::string("zstd: ") + ZSTD_getErrorName(code)};
}

using Decoder = std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)>;

/// A decoder that writes straight into the caller's memory, like
/// ZSTD_decompress. It needs no window, whatever size the frame declares.
/// Returns null if memory ran out.
Decoder StepDecoder() {
  Decoder decoder(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (decoder == nullptr) return decoder;
  ZSTD_DCtx_setParameter(decoder.get(), ZSTD_d_stableOutBuffer, 1);
  ZSTD_DCtx_setParameter(decoder.get(), ZSTD_d_windowLogMax,
                         ZSTD_WINDOWLOG_MAX);
  return decoder;
}

/// Like ZSTD_decompress, but in steps of one block, at most 128 KiB, between
/// which it can be interrupted. Each step returns the number of stored bytes
/// that zstd expects next. A step that gets exactly this number of bytes
/// decodes one block.
Status DecodeInSteps(Bytes stored, MutableBytes out, const Interrupt& interrupt,
                     size_t* made) {
  const Decoder decoder = StepDecoder();
  if (decoder == nullptr) return Error{Code::kNoMemory, "zstd: no memory"};
  ZSTD_inBuffer in{stored.data(), 0, 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  size_t next_check = kBytesPerCheck;
  // The minimum size of the start of a frame.
  constexpr size_t kFrameStart = 5;
  for (size_t wanted = 0; in.pos < stored.size();) {
    if (wanted == 0) wanted = kFrameStart;
    in.size = std::min(stored.size(), in.pos + wanted);
    wanted = ZSTD_decompressStream(decoder.get(), &to, &in);
    if (ZSTD_isError(wanted) != 0) return Failure(wanted);
    if (wanted != 0 && in.pos == stored.size()) {
      return Error{Code::kCorrupt, "zstd: the frame is cut off"};
    }
    if (to.pos < next_check) continue;
    CTXFS_TRY(interrupt.Check());
    next_check = to.pos + kBytesPerCheck;
  }
  *made = to.pos;
  return {};
}

Status DecodeAtOnce(Bytes stored, MutableBytes out, size_t* made) {
  // Takes little memory besides `out`: decoding into one buffer needs no
  // window.
  *made = ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(*made) != 0) return Failure(*made);
  return {};
}

Status DecodeToFill(Bytes stored, MutableBytes out,
                    const Interrupt& interrupt) {
  size_t made = 0;
  CTXFS_TRY(out.size() > kBytesPerCheck
                ? DecodeInSteps(stored, out, interrupt, &made)
                : DecodeAtOnce(stored, out, &made));
  if (made != out.size()) {
    return Error{
        Code::kCorrupt,
        fmt::format("zstd: decodes to {} bytes, not {}", made, out.size())};
  }
  return {};
}

/// Adjacent frames, and their decoded bytes.
struct Part {
  Bytes stored;
  MutableBytes out;
};

/// Divides frames into parts for several threads. Every part except the last is
/// large enough to be worth a thread. Returns no parts unless every frame
/// declares its size and the sizes add up to that of `out`. Also returns none
/// if `out` is no larger than one part, or if there are more than kMaxFrames
/// frames.
std::vector<Part> PartsOf(Bytes stored, MutableBytes out) {
  constexpr size_t kLeastBytes = size_t{2} << 20;
  constexpr size_t kMaxFrames = size_t{1} << 16;
  if (out.size() <= kLeastBytes) return {};
  std::vector<Part> parts;
  Part part{stored.first(0), out.first(0)};
  for (size_t frames = 0; !stored.empty(); ++frames) {
    const size_t size =
        ZSTD_findFrameCompressedSize(stored.data(), stored.size());
    // The values for "unknown" and "error" exceed any size.
    const unsigned long long told =
        ZSTD_getFrameContentSize(stored.data(), stored.size());
    if (ZSTD_isError(size) != 0 || told > out.size() || frames == kMaxFrames) {
      return {};
    }
    const auto made = static_cast<size_t>(told);
    part = {{stored.data() - part.stored.size(), part.stored.size() + size},
            {out.data() - part.out.size(), part.out.size() + made}};
    stored = stored.subspan(size);
    out = out.subspan(made);
    if (part.out.size() < kLeastBytes && !stored.empty()) continue;
    parts.push_back(part);
    part = {stored.first(0), out.first(0)};
  }
  if (!out.empty()) return {};
  return parts;
}

Status DecodeParts(const std::vector<Part>& parts, const Interrupt& interrupt) {
  constexpr unsigned kMaxThreads = 8;
  std::vector<Status> decoded(parts.size());
  ForEachInParallel(
      parts.size(), std::min(std::thread::hardware_concurrency(), kMaxThreads),
      [&](uint64_t i) {
        decoded[i] = DecodeToFill(parts[i].stored, parts[i].out, interrupt);
      });
  for (Status& one : decoded) CTXFS_TRY(std::move(one));
  return {};
}

}  // namespace

Status DecodeZstd(Bytes stored, MutableBytes out, const Interrupt& interrupt) {
  const std::vector<Part> parts = PartsOf(stored, out);
  return parts.size() > 1 ? DecodeParts(parts, interrupt)
                          : DecodeToFill(stored, out, interrupt);
}

namespace {

Error OverLimit(uint64_t limit) {
  return {Code::kLimit,
          fmt::format("zstd: decompressed size over the limit of {}", limit)};
}

/// Decodes a frame without a content size: doubles the buffer until the decoded
/// frame fits. Decoding into one buffer needs no window, whatever the frame
/// declares.
Result<Buffer> DecodeUnsized(Bytes frame, uint64_t limit,
                             const Interrupt& interrupt) {
  constexpr uint64_t kFirstRoom = 128 << 10;
  uint64_t room = std::min(limit, std::max(kFirstRoom, 4 * frame.size()));
  while (true) {
    CTXFS_TRY(interrupt.Check());
    CTXFS_TRY(HeapAllowance::Admit(room));
    Buffer scratch(static_cast<size_t>(room));
    const size_t n = ZSTD_decompress(scratch.data(), scratch.size(),
                                     frame.data(), frame.size());
    if (ZSTD_isError(n) == 0) {
      CTXFS_TRY(HeapAllowance::Admit(n));
      Buffer exact(n);
      if (n > 0) std::memcpy(exact.data(), scratch.data(), n);
      return exact;
    }
    if (ZSTD_getErrorCode(n) != ZSTD_error_dstSize_tooSmall) return Failure(n);
    if (room == limit) return OverLimit(limit);
    room = std::min(limit, 2 * room);
  }
}

}  // namespace

Result<ZstdFrame> DecodeZstdFrame(Bytes stored, uint64_t limit,
                                  const Interrupt& interrupt) {
  if (!LooksLikeZstd(stored)) {
    return Error{Code::kCorrupt, "zstd: not a frame"};
  }
  const unsigned dictionary =
      ZSTD_getDictID_fromFrame(stored.data(), stored.size());
  if (dictionary != 0) {
    return Error{
        Code::kCorrupt,
        fmt::format("zstd: needs the dictionary {}, which is not in the file",
                    dictionary)};
  }
  // The content size is checked first, because that needs only the frame's
  // header.
  const unsigned long long told =
      ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (told == ZSTD_CONTENTSIZE_ERROR) {
    return Error{Code::kCorrupt, "zstd: the frame's header is damaged"};
  }
  if (told != ZSTD_CONTENTSIZE_UNKNOWN && told > limit) return OverLimit(limit);
  const size_t size =
      ZSTD_findFrameCompressedSize(stored.data(), stored.size());
  if (ZSTD_isError(size) != 0) return Failure(size);
  const Bytes frame = stored.first(size);
  if (told == ZSTD_CONTENTSIZE_UNKNOWN) {
    Buffer bytes = CTXFS_TRY(DecodeUnsized(frame, limit, interrupt));
    return ZstdFrame{std::move(bytes), size};
  }
  CTXFS_TRY(HeapAllowance::Admit(told));
  Buffer bytes(static_cast<size_t>(told));
  CTXFS_TRY(DecodeZstd(frame, bytes.span(), interrupt));
  return ZstdFrame{std::move(bytes), size};
}

size_t DecodeZstdPrefix(Bytes stored, MutableBytes out) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(
      ZSTD_createDStream(), &ZSTD_freeDStream);
  if (stream == nullptr) throw std::bad_alloc();
  ZSTD_inBuffer in{stored.data(), stored.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (to.pos < to.size) {
    const size_t before = to.pos;
    const size_t more = ZSTD_decompressStream(stream.get(), &to, &in);
    if (ZSTD_isError(more) != 0) break;
    if (in.pos == in.size && to.pos == before) break;
  }
  return to.pos;
}

}  // namespace ctxfs
