// SPDX-License-Identifier: Apache-2.0
#include <lz4frame.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/codec/codec.h"

namespace ctxfs {
namespace {

using Lz4Decoder = std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)>;

Lz4Decoder NewLz4Decoder() {
  LZ4F_dctx* decoder = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&decoder, LZ4F_VERSION)) !=
      0) {
    decoder = nullptr;
  }
  return {decoder, &LZ4F_freeDecompressionContext};
}

Error BadFrame(const char* what) {
  return {Code::kCorrupt, std::string("lz4 frame: ") + what};
}

/// Decodes until `stored` is exhausted. Sets `made` to the number of decoded
/// bytes; decodes nothing past the end of `out`.
Status DecodeAll(LZ4F_dctx* decoder, Bytes stored, MutableBytes out,
                 size_t& made, const Interrupt& interrupt) {
  constexpr size_t kStep = size_t{1} << 20;
  // `out` stays at the same address, so the decoder needs no copy of the last
  // 64 KiB.
  LZ4F_decompressOptions_t options{};
  options.stableDst = 1;
  size_t wanted = 1;  // bytes that the frame still needs; 0: it has ended
  size_t put = 0;
  while (!stored.empty() || (put > 0 && wanted != 0)) {
    CTXFS_TRY(interrupt.Check());
    size_t taken = std::min(stored.size(), kStep);
    put = out.size() - made;
    wanted = LZ4F_decompress(decoder, out.data() + made, &put, stored.data(),
                             &taken, &options);
    if (LZ4F_isError(wanted) != 0) return BadFrame(LZ4F_getErrorName(wanted));
    if (put == 0 && taken == 0) break;
    made += put;
    stored = stored.subspan(taken);
  }
  if (wanted == 0 && stored.empty()) return {};
  return BadFrame(made == out.size()
                      ? "it decodes to more bytes than the decoded size"
                      : "it is cut off");
}

}  // namespace

Status DecodeLz4Frames(Bytes stored, MutableBytes out,
                       const Interrupt& interrupt) {
  const Lz4Decoder decoder = NewLz4Decoder();
  if (decoder == nullptr) return Error{Code::kNoMemory, "lz4: no memory"};
  // liblz4 accepts a distance of 0, which copies what was in `out` before.
  std::ranges::fill(out, std::byte{0});
  size_t made = 0;
  CTXFS_TRY(DecodeAll(decoder.get(), stored, out, made, interrupt));
  return made == out.size()
             ? Status()
             : BadFrame("it decodes to fewer bytes than the decoded size");
}

}  // namespace ctxfs
