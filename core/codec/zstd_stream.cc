// SPDX-License-Identifier: Apache-2.0
#include "core/codec/zstd_stream.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

namespace ctxfs {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr int kMaxWindowLog = 27;  // 128 MiB
constexpr uint64_t kBesides = kMaxStreamMemory - (uint64_t{1} << kMaxWindowLog);

/// Log2 of the largest window that fits into `memory`: at least 10, even if
/// that does not fit, and at most kMaxWindowLog.
int WindowLog(uint64_t memory) {
  const uint64_t room = memory - std::min(memory, kBesides);
  int log = 10;  // zstd's smallest
  while (log < kMaxWindowLog && uint64_t{2} << log <= room) ++log;
  return log;
}

Error StreamFailure(size_t code) {
  const std::string what = std::string("zstd: ") + ZSTD_getErrorName(code);
  switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
      return {Code::kNoMemory, what};
    case ZSTD_error_frameParameter_windowTooLarge:
      return {Code::kNoMemory, what + " (see -o cache)"};
    default:
      return {Code::kCorrupt, what};
  }
}

class Stream {
 public:
  Stream(const StreamSizes& sizes, const ByteSink& sink,
         const Interrupt& interrupt)
      : decoder_(ZSTD_createDCtx(), &ZSTD_freeDCtx),
        out_(kPieceBytes),
        output_("zstd", sizes.decoded, sink),
        interrupt_(interrupt) {
    if (decoder_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(decoder_.get(), ZSTD_d_windowLogMax,
                           WindowLog(sizes.memory));
  }

  Status Decode(Bytes stored) {
    ZSTD_inBuffer in{stored.data(), stored.size(), 0};
    // If the output piece is full, the decoder may hold further bytes, for
    // which it needs no new input.
    for (bool full = false; in.pos < in.size || full;) {
      CTXFS_TRY(interrupt_.Check());
      ZSTD_outBuffer to{out_.data(), out_.size(), 0};
      wanted_ = ZSTD_decompressStream(decoder_.get(), &to, &in);
      if (ZSTD_isError(wanted_) != 0) return StreamFailure(wanted_);
      full = to.pos == to.size && wanted_ != 0;
      CTXFS_TRY(output_.Put(out_.span().first(to.pos)));
    }
    return {};
  }

  Status End() const {
    if (wanted_ != 0) {
      return Error{Code::kCorrupt, "zstd: the frame is cut off"};
    }
    return output_.End();
  }

 private:
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> decoder_;
  Buffer out_;
  StreamOutput output_;
  const Interrupt& interrupt_;
  size_t wanted_ = 0;  // input that the frame needs next; 0: at its end
};

}  // namespace

bool MayBeZstd(uint64_t stored, uint64_t decoded) {
  constexpr uint64_t kMaxExpansion = 32 * 1024;
  constexpr uint64_t kLeastGrowth = 64 * 1024;
  return decoded / kMaxExpansion <= stored &&
         stored / 64 * 63 <= decoded + kLeastGrowth;
}

Status DecodeZstdStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt) {
  Stream stream(sizes, sink, interrupt);
  while (true) {
    const Bytes stored = CTXFS_TRY(next());
    if (stored.empty()) return stream.End();
    CTXFS_TRY(stream.Decode(stored));
  }
}

}  // namespace ctxfs
