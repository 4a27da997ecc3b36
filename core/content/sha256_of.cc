// SPDX-License-Identifier: Apache-2.0
#include "core/content/sha256_of.h"

#include "core/codec/crypto/digest.h"
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
  content.MarkConsumed(context);
  std::string digest = hash.Hex();
  if (digest.empty()) return Error{Code::kNoMemory, "no SHA-256"};
  return digest;
}

Result<std::string> Sha256Of(std::shared_ptr<const Source> source,
                             const ReadContext& context) {
  const uint64_t size = source->size();
  return Sha256Of(Content(Range{std::move(source), 0, nullptr}, size), context);
}

std::string LowerHex(std::string digits) {
  for (char& c : digits) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return digits;
}

}  // namespace ctxfs
