// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <memory>
#include <new>
#include <string>

#include "core/codec/codec.h"

namespace ctxfs {

bool LooksLikeZstd(Bytes stored) {
  return stored.size() >= 4 &&
         LoadLe<uint32_t>(stored.data()) == ZSTD_MAGICNUMBER;
}

Status DecodeZstd(Bytes stored, MutableBytes out) {
  // Decoding into one buffer needs no window: the memory is `out` alone.
  const size_t n =
      ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(n) != 0) {
    return Error{Code::kCorrupt, std::string("zstd: ") + ZSTD_getErrorName(n)};
  }
  if (n != out.size()) {
    return Error{Code::kCorrupt, "zstd: decodes to " + std::to_string(n) +
                                     " bytes, not " +
                                     std::to_string(out.size())};
  }
  return {};
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
