// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <new>
#include <string>

#include "core/codec/codec.h"
#include "core/codec/stream.h"

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

/// A format that wraps a stream of deflate: its name, and the parameter of zlib
/// that selects it.
struct Wrapping {
  const char* name;
  int window_bits;
};
constexpr Wrapping kGzip{"gzip", 16 + MAX_WBITS};
constexpr Wrapping kZlib{"zlib", MAX_WBITS};

Status DecodeWhole(const Wrapping& wrapping, Bytes stored, MutableBytes out,
                   const Interrupt& interrupt) {
  if (stored.size() > UINT_MAX || out.size() >= UINT_MAX) {
    return Error{Code::kLimit,
                 fmt::format("{}: more than 4 GiB", wrapping.name)};
  }
  z_stream stream{};
  if (inflateInit2(&stream, wrapping.window_bits) != Z_OK) {
    return Error{Code::kNoMemory, fmt::format("{}: no memory", wrapping.name)};
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
                 fmt::format("{}: not a stream of {} bytes{}", wrapping.name,
                             out.size(), why.empty() ? "" : ": " + why)};
  }
  return {};
}

/// zlib's decoder, in steps.
class Inflater {
 public:
  explicit Inflater(const Wrapping& wrapping) : name_(wrapping.name) {
    if (inflateInit2(&stream_, wrapping.window_bits) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<StreamStep> Decode(Bytes in, MutableBytes out) {
    // zlib only reads its input, although the pointer is not const.
    stream_.next_in =
        reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int done = inflate(&stream_, Z_NO_FLUSH);
    if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR) {
      return Error{Code::kCorrupt, fmt::format("{}: invalid data", name_)};
    }
    return StreamStep{in.size() - stream_.avail_in,
                      out.size() - stream_.avail_out, done == Z_STREAM_END};
  }

 private:
  const char* const name_;
  z_stream stream_{};
};

Status DecodeInSteps(const Wrapping& wrapping, const NextBytes& next,
                     const StreamSizes& sizes, const ByteSink& sink,
                     const Interrupt& interrupt) {
  Inflater inflater(wrapping);
  return DecodeBySteps(
      wrapping.name,
      [&inflater](Bytes in, MutableBytes out) {
        return inflater.Decode(in, out);
      },
      next, sizes, sink, interrupt);
}

}  // namespace

Status DecodeGzip(Bytes stored, MutableBytes out, const Interrupt& interrupt) {
  return DecodeWhole(kGzip, stored, out, interrupt);
}

Status DecodeZlib(Bytes stored, MutableBytes out, const Interrupt& interrupt) {
  return DecodeWhole(kZlib, stored, out, interrupt);
}

Status DecodeGzipStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt) {
  return DecodeInSteps(kGzip, next, sizes, sink, interrupt);
}

Status DecodeZlibStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt) {
  return DecodeInSteps(kZlib, next, sizes, sink, interrupt);
}

}  // namespace ctxfs
