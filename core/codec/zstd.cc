// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

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

}  // namespace ctxfs
