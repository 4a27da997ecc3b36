// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/block_inflater.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "core/codec/deflate.h"

namespace ctxfs {
namespace {

// Bits of z_stream::data_type.
constexpr int kUnusedBits = 7;
constexpr int kLastBlock = 64;
constexpr int kAtBlock = 128;

constexpr size_t kMaxPiece = size_t{1} << 30;

}  // namespace

void BlockInflater::Free::operator()(z_stream_s* stream) const {
  (void)inflateEnd(stream);
  delete stream;
}

BlockInflater::BlockInflater() : stream_(new z_stream_s()) {
  if (inflateInit2(stream_.get(), -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

void BlockInflater::Reset() {
  (void)inflateReset(stream_.get());
  ended_ = false;
}

Result<StreamStep> BlockInflater::Decode(Bytes in, MutableBytes out) {
  in = in.first(std::min(in.size(), kMaxPiece));
  out = out.first(std::min(out.size(), kMaxPiece));
  // zlib only reads its input, although the pointer is not const.
  stream_->next_in =
      reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream_->avail_in = static_cast<uInt>(in.size());
  stream_->next_out = reinterpret_cast<Bytef*>(out.data());
  stream_->avail_out = static_cast<uInt>(out.size());
  StreamStep step;
  // zlib may have buffered the bits that end a block. A call that only consumes
  // these bits takes and decodes no bytes, so inflate is called again.
  for (int calls = 0; calls < 2 && step.taken + step.made == 0; ++calls) {
    const int done = inflate(stream_.get(), Z_BLOCK);
    if (done == Z_MEM_ERROR) throw std::bad_alloc();
    if (done == Z_DATA_ERROR || done == Z_STREAM_ERROR || done == Z_NEED_DICT) {
      const char* const why = stream_->msg;
      return Error{Code::kCorrupt, std::string("deflate: ") +
                                       (why == nullptr ? "invalid data" : why)};
    }
    step.taken = in.size() - stream_->avail_in;
    step.made = out.size() - stream_->avail_out;
    step.finished = ended_ = done == Z_STREAM_END;
    if (ended_) break;
  }
  return step;
}

std::optional<unsigned> BlockInflater::BitsOfNextBlock() const {
  const int type = stream_->data_type;
  if (ended_ || (type & kAtBlock) == 0 || (type & kLastBlock) != 0) {
    return std::nullopt;
  }
  return static_cast<unsigned>(type & kUnusedBits);
}

Buffer BlockInflater::Window() const {
  Buffer window(DeflateDecoder::kWindow);
  uInt size = 0;
  (void)inflateGetDictionary(stream_.get(),
                             reinterpret_cast<Bytef*>(window.data()), &size);
  Buffer exact(size);
  std::copy_n(window.data(), size, exact.data());
  return exact;
}

}  // namespace ctxfs
