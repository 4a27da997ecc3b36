// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs {

/// The compression of a whole file.
enum class Compression : uint8_t { kNone, kGzip, kZstd, kXz, kBzip2 };

/// Returns the compression of a file with the first bytes `head`.
Compression CompressionOf(Bytes head);

/// Returns "gzip", "zstd", "xz" or "bzip2", which is also the name of the
/// program that unpacks the file with -d.
std::string_view CompressionName(Compression compression);

/// The name of a decompressed file is `stem` + `suffix`: "a.tar" + "" for
/// "a.tar.gz", "a" + ".tar" for "a.tgz". Both are empty if the name has no
/// suffix of a compression.
struct PlainName {
  std::string_view stem;
  std::string_view suffix;
};
PlainName WithoutCompression(std::string_view name);

/// Length of a prefix that always suffices to decode some bytes; bzip2 needs a
/// whole block.
constexpr uint64_t kHeadOfCompressed = uint64_t{1} << 20;

/// Decodes the start of `stored`, the first bytes of a compressed file, until
/// `out` is full or `stored` ends or is damaged. The bytes are not verified,
/// because their checksums follow them. Returns the number of bytes written.
size_t DecodeHead(Bytes stored, MutableBytes out);

}  // namespace ctxfs
