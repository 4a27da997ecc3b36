// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs {

/// How a file is compressed as a whole.
enum class Compression : uint8_t { kNone, kGzip, kZstd, kXz, kBzip2 };

/// Recognises a compressed file by its first bytes.
Compression CompressionOf(Bytes head);

/// "gzip", "zstd", "xz" or "bzip2": also the name of the program that unpacks
/// such a file with -d.
std::string_view CompressionName(Compression compression);

/// The name of a file without the suffix of a compression: "a.tar" of
/// "a.tar.gz". `suffix` is set to what has to be added to that: ".tar" for
/// "a.tgz", whose name without suffix is "a". Empty if there is no suffix.
struct PlainName {
  std::string_view stem;
  std::string_view suffix;
};
PlainName WithoutCompression(std::string_view name);

/// Bytes at the start of a compressed file from which some of what it decodes
/// to can always be decoded: a block of bzip2.
constexpr uint64_t kHeadOfCompressed = uint64_t{1} << 20;

/// Decodes the start of `stored`, the first bytes of a compressed file, until
/// `out` is full or `stored` ends or is damaged. Compares no checksum. Returns
/// the number of bytes written.
size_t DecodeHead(Bytes stored, MutableBytes out);

}  // namespace ctxfs
