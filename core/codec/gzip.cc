// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <string>

#include "core/codec/codec.h"

namespace ctxfs {

Status DecodeGzip(Bytes stored, MutableBytes out) {
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
  Bytef spare = 0;  // zlib takes no null
  stream.next_out = out.empty() ? &spare : reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = inflate(&stream, Z_FINISH);
  const std::string why = stream.msg != nullptr ? stream.msg : "";
  const uint64_t made = stream.total_out;
  const bool all_read = stream.avail_in == 0;
  inflateEnd(&stream);
  if (done != Z_STREAM_END || made != out.size() || !all_read) {
    return Error{Code::kCorrupt, "gzip: not a stream of " +
                                     std::to_string(out.size()) + " bytes" +
                                     (why.empty() ? "" : ": " + why)};
  }
  return {};
}

}  // namespace ctxfs
