// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/compression.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/interrupt.h"
#include "core/codec/codec.h"
#include "core/codec/deflate.h"
#include "core/codec/stream.h"
#include "core/compressed/gzip_header.h"

namespace ctxfs {
namespace {

using namespace std::string_view_literals;

struct Suffix {
  std::string_view of_compressed;
  std::string_view of_plain;
};
constexpr std::array<Suffix, 12> kSuffixes = {{{".gz", ""},
                                               {".zst", ""},
                                               {".xz", ""},
                                               {".bz2", ""},
                                               {".tgz", ".tar"},
                                               {".taz", ".tar"},
                                               {".tzst", ".tar"},
                                               {".txz", ".tar"},
                                               {".tbz2", ".tar"},
                                               {".tbz", ".tar"},
                                               {".tb2", ".tar"},
                                               {".zstd", ""}}};

/// Decodes with a StreamDecoder. The decoder fails at the end of `stored`, but
/// the bytes decoded before are valid.
size_t DecodeWith(StreamDecoder decode, Bytes stored, MutableBytes out) {
  size_t size = 0;
  const auto next = [&stored]() -> Result<Bytes> {
    return std::exchange(stored, Bytes());
  };
  const auto take = [&size, out](Bytes decoded) -> Status {
    const size_t more = std::min(decoded.size(), out.size() - size);
    std::copy_n(decoded.data(), more, out.data() + size);
    size += more;
    if (size < out.size()) return {};
    return Error{Code::kLimit, "enough"};
  };
  // Ignores the status: `size` counts the decoded bytes.
  (void)decode(next, {UINT64_MAX, kMaxStreamMemory}, take, NeverInterrupted());
  return size;
}

}  // namespace

Compression CompressionOf(Bytes head) {
  const std::string_view text = AsText(head);
  if (text.starts_with("\x1f\x8b\x08"sv)) return Compression::kGzip;
  if (text.starts_with("\x28\xb5\x2f\xfd"sv)) return Compression::kZstd;
  if (text.starts_with("\xfd\x37zXZ\0"sv)) return Compression::kXz;
  const bool bzip2 = text.size() >= 10 && text.starts_with("BZh"sv) &&
                     text[3] >= '1' && text[3] <= '9' &&
                     text.substr(4, 6) == "1AY&SY"sv;
  return bzip2 ? Compression::kBzip2 : Compression::kNone;
}

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
    case Compression::kXz:
      return "xz";
    case Compression::kBzip2:
      return "bzip2";
    case Compression::kNone:
      break;
  }
  return "";
}

PlainName WithoutCompression(std::string_view name) {
  for (const Suffix& suffix : kSuffixes) {
    if (name.size() > suffix.of_compressed.size() &&
        name.ends_with(suffix.of_compressed)) {
      name.remove_suffix(suffix.of_compressed.size());
      return {name, suffix.of_plain};
    }
  }
  return {};
}

size_t DecodeHead(Bytes stored, MutableBytes out) {
  switch (CompressionOf(stored)) {
    case Compression::kGzip: {
      const Result<size_t> header = GzipHeaderBytes(stored, /*verify=*/false);
      return header ? DecodeDeflatePrefix(stored.subspan(*header), out) : 0;
    }
    case Compression::kZstd:
      return DecodeZstdPrefix(stored, out);
    case Compression::kXz:
      return DecodeWith(&DecodeXzStream, stored, out);
    case Compression::kBzip2:
      return DecodeWith(&DecodeBzip2Stream, stored, out);
    case Compression::kNone:
      break;
  }
  return 0;
}

}  // namespace ctxfs
