// SPDX-License-Identifier: Apache-2.0
#include <bzlib.h>

#include <new>

#include "core/codec/stream.h"

namespace ctxfs {
namespace {

/// libbz2's decoder, which takes up to 3.7 MB.
class Bzip2Decoder {
 public:
  Bzip2Decoder() {
    if (BZ2_bzDecompressInit(&stream_, /*verbosity=*/0, /*small=*/0) != BZ_OK) {
      throw std::bad_alloc();
    }
  }
  ~Bzip2Decoder() { BZ2_bzDecompressEnd(&stream_); }
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;

  Result<StreamStep> Decode(Bytes in, MutableBytes out) {
    // libbz2 only reads its input, although the pointer is not const.
    stream_.next_in =
        reinterpret_cast<char*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = static_cast<unsigned>(in.size());
    stream_.next_out = reinterpret_cast<char*>(out.data());
    stream_.avail_out = static_cast<unsigned>(out.size());
    const int done = BZ2_bzDecompress(&stream_);
    if (done == BZ_MEM_ERROR) {
      return Error{Code::kNoMemory, "bzip2: no memory"};
    }
    if (done != BZ_OK && done != BZ_STREAM_END) {
      return Error{Code::kCorrupt, "bzip2: invalid data"};
    }
    return StreamStep{in.size() - stream_.avail_in,
                      out.size() - stream_.avail_out, done == BZ_STREAM_END};
  }

 private:
  bz_stream stream_{};
};

}  // namespace

Status DecodeBzip2Stream(const NextBytes& next, const StreamSizes& sizes,
                         const ByteSink& sink, const Interrupt& interrupt) {
  Bzip2Decoder decoder;
  return DecodeBySteps(
      "bzip2",
      [&decoder](Bytes in, MutableBytes out) {
        return decoder.Decode(in, out);
      },
      next, sizes, sink, interrupt);
}

}  // namespace ctxfs
