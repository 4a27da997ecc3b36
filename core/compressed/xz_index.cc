// SPDX-License-Identifier: Apache-2.0
//
// Reads the streams of an .xz file from the last to the first, because only the
// end of a stream determines its start. lzma_file_info_decoder uses this order,
// too, but takes quadratic time: 86 seconds for a file of 1.3 MB with 40,000
// streams.
#include "core/compressed/xz_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxIndexMemory = 64 * limits::kMiB;
constexpr size_t kMaxStreams = 100'000;

void* Allocate(void* /*opaque*/, size_t count, size_t size) {
  const std::optional<uint64_t> bytes = CheckedMul(count, size);
  return bytes ? ::operator new(*bytes, std::nothrow) : nullptr;
}
void Deallocate(void* /*opaque*/, void* bytes) { ::operator delete(bytes); }
constexpr lzma_allocator kCounted{&Allocate, &Deallocate, nullptr};

const uint8_t* Data(Bytes bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

/// Reads a source from its end to its start, through a buffer.
class BackwardReader {
 public:
  BackwardReader(const Source& source, const Request& request)
      : source_(source), request_(request) {}

  /// Returns the `size` bytes before `end`, which must exist. `size` must be at
  /// most 64 KiB. The bytes are valid until the next call.
  Result<Bytes> Before(uint64_t end, size_t size) {
    const uint64_t from = end - size;
    if (from < start_ || end > start_ + held_) {
      held_ = std::min<uint64_t>(buffer_.size(), end);
      start_ = end - held_;
      CTXFS_TRY(source_.ReadAt(start_, buffer_.span().first(held_), request_));
    }
    return Bytes(buffer_.span())
        .subspan(static_cast<size_t>(from - start_), size);
  }

 private:
  const Source& source_;
  const Request& request_;
  Buffer buffer_{64 * limits::kKiB};
  uint64_t start_ = 0;  // of the bytes in the buffer
  size_t held_ = 0;
};

class XzStreams {
 public:
  XzStreams(const Source& source, const Request& request)
      : source_(source),
        request_(request),
        reader_(source, request),
        end_(source.size()) {}

  /// Reads the indexes of all streams.
  Status Read() {
    do {
      CTXFS_TRY(request_.Check());
      if (streams_.size() == kMaxStreams) {
        return Error{Code::kLimit,
                     fmt::format("xz: more streams than the limit of {}; 'xz "
                                 "-d' unpacks the file",
                                 kMaxStreams),
                     end_};
      }
      CTXFS_TRY(AdmitGrowth(streams_));
      XzIndex::Owned stream = CTXFS_TRY(ReadStream());
      streams_.push_back(std::move(stream));
    } while (end_ > 0);
    return {};
  }

  /// Joins the indexes of all streams. Appends one stream at a time, from the
  /// first on: lzma_index_cat visits every stream of the appended index.
  Result<XzIndex::Owned> Join() {
    XzIndex::Owned all = std::move(streams_.back());
    streams_.pop_back();
    for (; !streams_.empty(); streams_.pop_back()) {
      CTXFS_TRY(request_.Check());
      const lzma_ret done =
          lzma_index_cat(all.get(), streams_.back().get(), &kCounted);
      if (done != LZMA_OK) return XzFailure(done, 0);
      (void)streams_.back().release();
    }
    return all;
  }

 private:
  Error NoIndex() const {
    return {Code::kCorrupt,
            "xz: the file does not end with an index: it is cut off, or other "
            "bytes follow",
            source_.size()};
  }

  /// Reads the index of the stream before end_, and sets end_ to the start of
  /// the stream.
  Result<XzIndex::Owned> ReadStream();
  /// Moves end_ back over zero padding. Returns the number of bytes skipped.
  Result<uint64_t> SkipPadding();
  /// Reads the index of `size` bytes before `end`.
  Result<XzIndex::Owned> ReadIndex(uint64_t end, uint64_t size);

  const Source& source_;
  const Request& request_;
  BackwardReader reader_;
  uint64_t end_;
  uint64_t memory_ = 0;                  // of streams_
  std::vector<XzIndex::Owned> streams_;  // the last stream first
};

Result<uint64_t> XzStreams::SkipPadding() {
  constexpr size_t kUnit = 4;
  const uint64_t from = end_;
  for (; end_ >= kUnit; end_ -= kUnit) {
    if ((from - end_) % (64 * limits::kKiB) == 0) {
      CTXFS_TRY(request_.Check());
    }
    const Bytes unit = CTXFS_TRY(reader_.Before(end_, kUnit));
    if (LoadLe<uint32_t>(unit.data()) != 0) break;
  }
  return from - end_;
}

Result<XzIndex::Owned> XzStreams::ReadIndex(uint64_t end, uint64_t size) {
  const uint64_t left = kMaxIndexMemory - std::min(memory_, kMaxIndexMemory);
  LzmaStream decoder(&kCounted);
  lzma_index* decoded = nullptr;
  lzma_ret done = lzma_index_decoder(decoder.get(), &decoded, left);
  if (done != LZMA_OK) return XzFailure(done, end - size);
  constexpr uint64_t kPiece = 16 * limits::kKiB;
  uint64_t at = end - size;
  while (done == LZMA_OK && at < end) {
    CTXFS_TRY(request_.Check());
    const auto length = static_cast<size_t>(std::min(kPiece, end - at));
    const Bytes piece = CTXFS_TRY(reader_.Before(at + length, length));
    decoder->next_in = Data(piece);
    decoder->avail_in = length;
    done = lzma_code(decoder.get(), LZMA_RUN);
    at += length - decoder->avail_in;
  }
  XzIndex::Owned index(done == LZMA_STREAM_END ? decoded : nullptr);
  if (done == LZMA_MEMLIMIT_ERROR || done == LZMA_MEM_ERROR) {
    return XzFailure(done, at);
  }
  if (index == nullptr || at != end) return NoIndex();
  memory_ += lzma_index_memused(index.get());
  return index;
}

Result<XzIndex::Owned> XzStreams::ReadStream() {
  constexpr size_t kHeader = LZMA_STREAM_HEADER_SIZE;  // also the footer's size
  const uint64_t padding = CTXFS_TRY(SkipPadding());
  if (end_ < 2 * kHeader) return NoIndex();
  lzma_stream_flags footer{};
  const Bytes last = CTXFS_TRY(reader_.Before(end_, kHeader));
  lzma_ret done = lzma_stream_footer_decode(&footer, Data(last));
  if (done == LZMA_OPTIONS_ERROR) return XzFailure(done, end_ - kHeader);
  end_ -= kHeader;
  if (done != LZMA_OK || footer.backward_size > end_ - kHeader) {
    return NoIndex();
  }
  XzIndex::Owned index = CTXFS_TRY(ReadIndex(end_, footer.backward_size));
  end_ -= footer.backward_size;
  const lzma_vli blocks = lzma_index_total_size(index.get());
  if (blocks > end_ - kHeader) return NoIndex();
  end_ -= blocks;
  lzma_stream_flags header{};
  const Bytes first = CTXFS_TRY(reader_.Before(end_, kHeader));
  end_ -= kHeader;
  done = lzma_stream_header_decode(&header, Data(first));
  if (done == LZMA_OPTIONS_ERROR) return XzFailure(done, end_);
  if (done == LZMA_OK) done = lzma_stream_flags_compare(&header, &footer);
  if (done == LZMA_OK) done = lzma_index_stream_flags(index.get(), &footer);
  if (done == LZMA_OK) done = lzma_index_stream_padding(index.get(), padding);
  if (done != LZMA_OK) return NoIndex();
  return index;
}

}  // namespace

Error XzFailure(lzma_ret code, uint64_t at) {
  switch (code) {
    case LZMA_MEM_ERROR:
      return {Code::kNoMemory, "xz: no memory"};
    case LZMA_MEMLIMIT_ERROR:
      return {Code::kLimit, "xz: the index is over the limit of 64 MiB", at};
    case LZMA_OPTIONS_ERROR:
      return {Code::kUnsupported, "xz: options that are not known", at};
    default:
      return {Code::kCorrupt, "xz: invalid data", at};
  }
}

void XzIndex::Free::operator()(lzma_index* index) const {
  lzma_index_end(index, &kCounted);
}

lzma_index_iter XzIndex::From(uint64_t decoded, bool& found) const {
  lzma_index_iter block;
  lzma_index_iter_init(&block, index_.get());
  found = lzma_index_iter_locate(&block, decoded) == 0;
  return block;
}

Result<std::shared_ptr<const XzIndex>> ReadXzIndex(const Source& source,
                                                   const Request& request) {
  XzStreams streams(source, request);
  CTXFS_TRY(streams.Read());
  XzIndex::Owned all = CTXFS_TRY(streams.Join());
  return std::shared_ptr<const XzIndex>(
      std::make_shared<XzIndex>(std::move(all)));
}

}  // namespace ctxfs
