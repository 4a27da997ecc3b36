// SPDX-License-Identifier: Apache-2.0
//
// Lists compression methods of ZIP (docs/formats/zip.md, section 7).
#include "core/formats/zip/methods.h"

#include <algorithm>
#include <iterator>

#include "core/codec/zstd_stream.h"
#include "core/formats/zip/limits.h"

namespace ctxfs::zip {
namespace {

struct Method {
  uint16_t number;
  const char* name;
  uint64_t ratio;  // MostRatio; 0: unsupported
  StreamDecoder decode;
};

// deflate64: a match of 65,538 bytes takes 18 bits. bzip2: a block of 46.6
// million bytes takes at least 30 bytes. LZMA: a match of 273 bytes takes 14
// decisions of 0.022 bits, plus the headers of xz. zstd: a block of 128 KiB
// takes 4 bytes.
constexpr uint64_t kDeflate64Ratio = 29'128;
constexpr uint64_t kBzip2Ratio = 1'600'000;
constexpr uint64_t kLzmaRatio = 8'000;
constexpr uint64_t kZstdRatio = 32'768;

constexpr Method kMethods[] = {
    {kStored, "stored", 1, nullptr},
    {1, "Shrink", 0, nullptr},
    {2, "Reduce", 0, nullptr},
    {3, "Reduce", 0, nullptr},
    {4, "Reduce", 0, nullptr},
    {5, "Reduce", 0, nullptr},
    {6, "Implode", 0, nullptr},
    {kDeflate, "deflate", kMaxDeflateRatio, nullptr},
    {9, "deflate64", kDeflate64Ratio, &DecodeDeflate64Stream},
    {10, "PKWARE Implode", 0, nullptr},
    {12, "bzip2", kBzip2Ratio, &DecodeBzip2Stream},
    {14, "lzma", kLzmaRatio, &DecodeLzmaStream},
    {16, "IBM CMPSC", 0, nullptr},
    {18, "IBM TERSE", 0, nullptr},
    {19, "IBM LZ77", 0, nullptr},
    {kZstd, "zstd", kZstdRatio, &DecodeZstdStream},
    {94, "MP3", 0, nullptr},
    {95, "xz", kLzmaRatio, &DecodeXzStream},
    {96, "JPEG", 0, nullptr},
    {97, "WavPack", 0, nullptr},
    {98, "PPMd", 0, nullptr},
    {99, "AES encryption", 0, nullptr},
};

const Method* Find(uint16_t number) {
  const auto* found = std::find_if(
      std::begin(kMethods), std::end(kMethods),
      [number](const Method& method) { return method.number == number; });
  return found == std::end(kMethods) ? nullptr : found;
}

}  // namespace

StreamDecoder DecoderOf(uint16_t method) {
  const Method* const found = Find(method);
  return found == nullptr ? nullptr : found->decode;
}

uint64_t MostRatio(uint16_t method) {
  const Method* const found = Find(method);
  return found == nullptr ? 0 : found->ratio;
}

bool IsSupported(uint16_t method) { return MostRatio(method) > 0; }

std::string CodecText(uint16_t method) {
  return IsSupported(method) ? Find(method)->name
                             : "method_" + std::to_string(method);
}

std::string MethodText(uint16_t method) {
  const Method* const found = Find(method);
  const std::string number = "method " + std::to_string(method);
  return found == nullptr ? number : found->name + (" (" + number + ")");
}

}  // namespace ctxfs::zip
