// SPDX-License-Identifier: Apache-2.0
#include "core/formats/manifest/file_digest.h"

#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/codec/digest.h"

namespace ctxfs::manifest {

Result<std::string> FileDigest(const Source& source,
                               const ReadContext& context) {
  constexpr uint64_t kPiece = 256 * limits::kKiB;
  Sha256 digest;
  for (uint64_t at = 0; at < source.size(); at += kPiece) {
    if (Status wanted = context.Check(); !wanted) {
      return std::move(wanted).error();
    }
    const Result<Buffer> piece =
        ReadBuffer(source, at, std::min(kPiece, source.size() - at), "file");
    if (!piece) return piece.error();
    digest.Update(piece->span());
  }
  return digest.Hex();
}

std::string LowerHex(std::string digits) {
  for (char& c : digits) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return digits;
}

}  // namespace ctxfs::manifest
