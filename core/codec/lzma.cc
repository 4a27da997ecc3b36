// SPDX-License-Identifier: Apache-2.0
//
// LZMA and xz by liblzma.
#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/codec/stream.h"

namespace ctxfs {
namespace {

constexpr size_t kProperties = 5;
constexpr size_t kZipHeader = 4 + kProperties;

Error LzmaFailure(const char* codec, lzma_ret code) {
  const std::string name(codec);
  switch (code) {
    case LZMA_MEM_ERROR:
      return {Code::kNoMemory, name + ": no memory"};
    case LZMA_MEMLIMIT_ERROR:
      return {Code::kNoMemory,
              name + ": needs more memory than it may take (see -o cache)"};
    case LZMA_OPTIONS_ERROR:
      return {Code::kCorrupt, name + ": invalid options"};
    default:
      return {Code::kCorrupt, name + ": invalid data"};
  }
}

class LzmaDecoder {
 public:
  explicit LzmaDecoder(const char* codec) : codec_(codec) {}
  ~LzmaDecoder() { lzma_end(&stream_); }
  LzmaDecoder(const LzmaDecoder&) = delete;
  LzmaDecoder& operator=(const LzmaDecoder&) = delete;

  lzma_stream* stream() { return &stream_; }

  Result<StreamStep> Decode(Bytes in, MutableBytes out) {
    stream_.next_in = reinterpret_cast<const uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret done = lzma_code(&stream_, LZMA_RUN);
    // LZMA_BUF_ERROR means no progress, which the caller detects itself.
    if (done != LZMA_OK && done != LZMA_STREAM_END && done != LZMA_BUF_ERROR) {
      return LzmaFailure(codec_, done);
    }
    return StreamStep{in.size() - stream_.avail_in,
                      out.size() - stream_.avail_out, done == LZMA_STREAM_END};
  }

  Status DecodeAll(const NextBytes& next, const StreamSizes& sizes,
                   const ByteSink& sink, const Interrupt& interrupt) {
    return DecodeBySteps(
        codec_, [this](Bytes in, MutableBytes out) { return Decode(in, out); },
        next, sizes, sink, interrupt);
  }

 private:
  const char* const codec_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

/// Regroups the pieces of a stream so that the last piece has kEnd bytes, or
/// the whole stream if it is shorter: liblzma 5.4.1 rejects an end marker that
/// is split over two pieces.
class WholeEnd {
 public:
  explicit WholeEnd(const NextBytes& next) : next_(next) {}

  Result<Bytes> Next() {
    while (true) {
      pieces_.erase(pieces_.begin(), pieces_.begin() + given_);
      given_ = 0;
      const Bytes more = CTXFS_TRY(next_());
      pieces_.insert(pieces_.end(), more.begin(), more.end());
      const size_t held = more.empty() ? 0 : std::min(kEnd, pieces_.size());
      given_ = static_cast<std::ptrdiff_t>(pieces_.size() - held);
      if (given_ > 0 || more.empty()) {
        return Bytes(pieces_).first(pieces_.size() - held);
      }
    }
  }

 private:
  static constexpr size_t kEnd = 32;

  const NextBytes& next_;
  std::vector<std::byte> pieces_;
  std::ptrdiff_t given_ = 0;  // bytes of pieces_ that the caller received
};

/// Fills `out` with the first bytes of a stream. Returns the rest of the piece
/// that it read last.
Result<Bytes> ReadStart(const NextBytes& next, MutableBytes out) {
  while (true) {
    const Bytes more = CTXFS_TRY(next());
    if (more.empty()) {
      return Error{Code::kCorrupt, "lzma: the stream is cut off"};
    }
    const size_t taken = std::min(more.size(), out.size());
    std::copy_n(more.data(), taken, out.data());
    out = out.subspan(taken);
    if (out.empty()) return more.subspan(taken);
  }
}

/// Prepares a decoder for the header of a ZIP member.
Status StartLzma(Bytes header, const StreamSizes& sizes, lzma_stream* stream) {
  ByteReader in(header);
  in.Skip(2);
  if (in.U16() != kProperties) {
    return Error{Code::kCorrupt, "lzma: the properties are not 5 bytes"};
  }
  const unsigned packed = in.U8();
  lzma_options_lzma options{};
  options.lc = packed % 9;
  options.lp = packed / 9 % 5;
  options.pb = packed / 45;
  // No match reaches before the data, so a dictionary larger than the data has
  // no use.
  const uint64_t used = std::max<uint64_t>(sizes.decoded, LZMA_DICT_SIZE_MIN);
  options.dict_size = static_cast<uint32_t>(std::min<uint64_t>(
      std::max<uint32_t>(in.U32(), LZMA_DICT_SIZE_MIN), used));
  options.ext_flags = LZMA_LZMA1EXT_ALLOW_EOPM;
  lzma_set_ext_size(options, sizes.decoded);
  const std::array<lzma_filter, 2> filters = {
      {{LZMA_FILTER_LZMA1EXT, &options}, {LZMA_VLI_UNKNOWN, nullptr}}};
  const uint64_t memory = lzma_raw_decoder_memusage(filters.data());
  if (memory == UINT64_MAX) return LzmaFailure("lzma", LZMA_OPTIONS_ERROR);
  if (memory > sizes.memory) return LzmaFailure("lzma", LZMA_MEMLIMIT_ERROR);
  const lzma_ret made = lzma_raw_decoder(stream, filters.data());
  return made == LZMA_OK ? Status() : Status(LzmaFailure("lzma", made));
}

}  // namespace

Status DecodeLzmaStream(const NextBytes& next, const StreamSizes& sizes,
                        const ByteSink& sink, const Interrupt& interrupt) {
  std::array<std::byte, kZipHeader> header{};
  WholeEnd pieces(next);
  const Result<Bytes> start =
      ReadStart([&pieces] { return pieces.Next(); }, header);
  if (!start) return start.error();
  LzmaDecoder decoder("lzma");
  CTXFS_TRY(StartLzma(header, sizes, decoder.stream()));
  Bytes rest = *start;
  const auto all = [&rest, &pieces]() -> Result<Bytes> {
    return rest.empty() ? pieces.Next() : std::exchange(rest, Bytes());
  };
  return decoder.DecodeAll(all, sizes, sink, interrupt);
}

Status DecodeXzStream(const NextBytes& next, const StreamSizes& sizes,
                      const ByteSink& sink, const Interrupt& interrupt) {
  LzmaDecoder decoder("xz");
  const lzma_ret made =
      lzma_stream_decoder(decoder.stream(), sizes.memory, /*flags=*/0);
  if (made != LZMA_OK) return LzmaFailure("xz", made);
  return decoder.DecodeAll(next, sizes, sink, interrupt);
}

}  // namespace ctxfs
