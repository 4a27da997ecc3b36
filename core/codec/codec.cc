// SPDX-License-Identifier: Apache-2.0
#include "core/codec/codec.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace ctxfs {

const char* CodecName(Codec codec) {
  switch (codec) {
    case Codec::kZstd:
      return "zstd";
    case Codec::kLz4:
      return "lz4";
    case Codec::kNone:
      break;
  }
  return "none";
}

Status Decode(Codec codec, Bytes stored, MutableBytes out,
              const Interrupt& interrupt) {
  switch (codec) {
    case Codec::kZstd:
      return DecodeZstd(stored, out, interrupt);
    case Codec::kLz4:
      return DecodeLz4(stored, out, interrupt);
    case Codec::kNone:
      break;
  }
  if (stored.size() != out.size()) {
    return Error{Code::kCorrupt,
                 fmt::format("{} uncompressed bytes: the decoded size is {}",
                             stored.size(), out.size())};
  }
  if (!out.empty()) std::memcpy(out.data(), stored.data(), out.size());
  return {};
}

size_t DecodePrefix(Codec codec, Bytes stored, MutableBytes out) {
  switch (codec) {
    case Codec::kZstd:
      return DecodeZstdPrefix(stored, out);
    case Codec::kLz4:
      return DecodeLz4Prefix(stored, out);
    case Codec::kNone:
      break;
  }
  const size_t n = std::min(stored.size(), out.size());
  if (n > 0) std::memcpy(out.data(), stored.data(), n);
  return n;
}

}  // namespace ctxfs
