// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <string>

#include "core/codec/codec.h"

namespace ctxfs {
namespace {

constexpr int kInterrupted = 1000;  // not a code of zlib

/// Like inflate() for `size` bytes of output, but checks `interrupt` before
/// each piece of output.
int Inflate(z_stream& stream, size_t size, const Interrupt& interrupt) {
  while (true) {
    if (interrupt.interrupted()) return kInterrupted;
    const size_t piece = std::min(kBytesPerCheck, size - stream.total_out);
    stream.avail_out = static_cast<uInt>(piece);
    const bool last = stream.total_out + piece == size;
    const int done = inflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    if (done != Z_OK || last) return done;
    // Output space is left, so the input was truncated.
    if (stream.avail_out > 0) return Z_BUF_ERROR;
  }
}

}  // namespace

Status DecodeGzip(Bytes stored, MutableBytes out, const Interrupt& interrupt) {
  if (stored.size() > UINT_MAX || out.size() >= UINT_MAX) {
    return Error{Code::kLimit, "gzip: more than 4 GiB"};
  }
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) {
    return Error{Code::kNoMemory, "gzip: no memory"};
  }
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<std::byte*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  Bytef spare = 0;  // zlib refuses a null pointer
  stream.next_out = out.empty() ? &spare : reinterpret_cast<Bytef*>(out.data());
  const int done = Inflate(stream, out.size(), interrupt);
  if (done == kInterrupted) {
    inflateEnd(&stream);
    return interrupt.Check();
  }
  const std::string why = stream.msg != nullptr ? stream.msg : "";
  const uint64_t made = stream.total_out;
  const bool all_read = stream.avail_in == 0;
  inflateEnd(&stream);
  if (done != Z_STREAM_END || made != out.size() || !all_read) {
    return Error{Code::kCorrupt,
                 fmt::format("gzip: not a stream of {} bytes{}", out.size(),
                             why.empty() ? "" : ": " + why)};
  }
  return {};
}

}  // namespace ctxfs
