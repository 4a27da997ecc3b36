// SPDX-License-Identifier: Apache-2.0
//
// Decodes zstd frame by frame. Writers of large files start a frame for each
// part, and append a table of the frames, which is not needed here.
#include <fmt/core.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <climits>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/compressed/decoder.h"
#include "core/compressed/stored_reader.h"

namespace ctxfs {
namespace {

// Windows of 8 and 128 MiB. The rest of kUsualDecoderMemory and
// kMaxDecoderMemory is for buffers.
constexpr int kUsualWindowLog = 23;
constexpr int kMaxWindowLog = 27;

constexpr uint32_t kFrame = 0xFD2FB528;
// The magic number and the frame header descriptor (RFC 8878, 3.1.1.1).
constexpr size_t kFrameStart = sizeof(uint32_t) + 1;

/// Whether a frame has content and no checksum of it. Skippable frames have no
/// content.
bool LacksChecksum(Bytes start) {
  constexpr auto kContentChecksum = std::byte{4};
  return LoadLe<uint32_t>(start.data()) == kFrame &&
         start.size() >= kFrameStart &&
         (start[kFrameStart - 1] & kContentChecksum) == std::byte{0};
}

bool StartsFrame(Bytes bytes) {
  constexpr uint32_t kSkippable = 0x184D2A50;  // to 0x184D2A5F
  if (bytes.size() < sizeof(uint32_t)) return false;
  const auto magic = LoadLe<uint32_t>(bytes.data());
  return magic == kFrame || (magic & ~0xFU) == kSkippable;
}

/// Returns the error for `code`. `most`: whether the decoder already had
/// kMaxDecoderMemory; if not, a retry may succeed.
Error ZstdFailure(size_t code, bool most, uint64_t at) {
  const std::string what = std::string("zstd: ") + ZSTD_getErrorName(code);
  switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
      return {Code::kNoMemory, what};
    case ZSTD_error_frameParameter_windowTooLarge:
      if (!most) return {Code::kNoMemory, what};
      return {Code::kLimit,
              "zstd: the window is over the limit of 128 MiB; zstd --long=31 "
              "-d unpacks the file",
              at};
    case ZSTD_error_checksum_wrong:
      return {Code::kChecksum, "zstd: checksum mismatch of a frame", at};
    case ZSTD_error_dictionary_wrong:
      return {Code::kUnsupported, "zstd: a frame needs a dictionary", at};
    default:
      return {Code::kCorrupt, what, at};
  }
}

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder(SourcePtr source, const Place& place, Places* places,
              uint64_t memory)
      : reader_(std::move(source), place.stored_bits / CHAR_BIT),
        places_(places),
        most_(memory >= kMaxDecoderMemory),
        decoded_(place.decoded),
        stream_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax,
                           most_ ? kMaxWindowLog : kUsualWindowLog);
  }

  bool has_checksums() const override { return has_checksums_; }
  uint64_t memory() const override {
    return limits::kMiB / 2 + ZSTD_sizeof_DCtx(stream_.get());
  }

  Result<size_t> Fill(MutableBytes out, const Request& request) override {
    size_t made = 0;
    while (made < out.size()) {
      CTXFS_TRY(request.Check());
      if (!in_frame_) {
        if (reader_.AtEnd()) break;
        CTXFS_TRY(Begin(request));
      }
      made += CTXFS_TRY(Step(out.subspan(made), request));
    }
    return made;
  }

 private:
  Status Begin(const Request& request) {
    const Bytes start = CTXFS_TRY(reader_.Peek(request, kFrameStart));
    if (!StartsFrame(start)) {
      return Error{
          Code::kCorrupt,
          fmt::format("zstd: the last {} bytes of the file are not of the "
                      "compressed data",
                      reader_.source()->size() - reader_.at()),
          reader_.at()};
    }
    if (places_ != nullptr && places_->Wants(decoded_)) {
      CTXFS_TRY(places_->Add({decoded_, reader_.at() * CHAR_BIT}));
    }
    has_checksums_ = has_checksums_ && !LacksChecksum(start);
    in_frame_ = true;
    return {};
  }

  Result<size_t> Step(MutableBytes out, const Request& request) {
    const Bytes stored = CTXFS_TRY(reader_.Peek(request));
    ZSTD_inBuffer in{stored.data(), stored.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t wanted = ZSTD_decompressStream(stream_.get(), &to, &in);
    const uint64_t at = reader_.at();
    reader_.Skip(in.pos);
    if (ZSTD_isError(wanted) != 0) {
      return ZstdFailure(wanted, most_, at + in.pos);
    }
    if (stored.empty() && to.pos == 0 && wanted != 0) {
      return Error{Code::kCorrupt, "zstd: the file ends within a frame", at};
    }
    decoded_ += to.pos;
    in_frame_ = wanted != 0;
    return to.pos;
  }

  StoredReader reader_;
  Places* const places_;
  const bool most_;
  uint64_t decoded_;
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> stream_;
  bool in_frame_ = false;
  bool has_checksums_ = true;
};

}  // namespace

std::unique_ptr<Decoder> MakeZstdDecoder(SourcePtr source, const Place& place,
                                         Places* places, uint64_t memory) {
  return std::make_unique<ZstdDecoder>(std::move(source), place, places,
                                       memory);
}

}  // namespace ctxfs
