// SPDX-License-Identifier: Apache-2.0
#include "core/content/sha256_of.h"

#include "core/codec/digest.h"
#include "core/content/read_through.h"

namespace ctxfs {

Result<std::string> Sha256Of(const Content& content,
                             const ReadContext& context) {
  Sha256 hash;
  Status read = ReadThrough(content, context, [&hash](Bytes piece) {
    hash.Update(piece);
    return Status();
  });
  if (!read) return std::move(read).error();
  content.Spend(context);
  std::string digest = hash.Hex();
  if (digest.empty()) return Error{Code::kNoMemory, "no SHA-256"};
  return digest;
}

}  // namespace ctxfs
