// SPDX-License-Identifier: Apache-2.0
#include "core/content/sha256_of.h"

#include "core/base/limits.h"
#include "core/codec/digest.h"

namespace ctxfs {

Result<std::string> Sha256Of(const Content& content,
                             const ReadContext& context) {
  // A file of no bytes may still be a damaged one.
  if (content.size() == 0) {
    if (Status verified = content.Verify(context); !verified) {
      return std::move(verified).error();
    }
  }
  Sha256 hash;
  Window window;
  for (uint64_t at = 0; at < content.size(); at += limits::kMiB) {
    Status read = content.Read(at, limits::kMiB, context, window);
    if (!read) return std::move(read).error();
    for (const Bytes slice : window.slices()) hash.Update(slice);
  }
  window.Clear();
  content.Spend(context);
  std::string digest = hash.Hex();
  if (digest.empty()) return Error{Code::kNoMemory, "no SHA-256"};
  return digest;
}

}  // namespace ctxfs
