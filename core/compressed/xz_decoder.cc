// SPDX-License-Identifier: Apache-2.0
//
// Decodes xz block by block. The index at the end of each stream has the
// offsets and sizes of its blocks.
#include <fmt/core.h>
#include <lzma.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/compressed/decoder.h"
#include "core/compressed/stored_reader.h"
#include "core/compressed/xz_index.h"

namespace ctxfs {

namespace {

class XzDecoder final : public Decoder {
 public:
  XzDecoder(SourcePtr source, std::shared_ptr<const XzIndex> index,
            const Place& place, Places* places, uint64_t memory)
      : reader_(std::move(source), 0),
        index_(std::move(index)),
        places_(places),
        allowed_(memory),
        decoded_(place.decoded) {}

  bool has_checksums() const override { return has_checksums_; }
  uint64_t memory() const override { return memory_; }

  Result<size_t> Fill(MutableBytes out, const Request& request) override {
    size_t made = 0;
    while (made < out.size()) {
      CTXFS_TRY(request.Check());
      if (!in_block_) {
        bool found = false;
        const lzma_index_iter block = index_->From(decoded_, found);
        if (!found) break;
        CTXFS_TRY(Begin(block, request));
      }
      made += CTXFS_TRY(Step(out.subspan(made), request));
    }
    return made;
  }

 private:
  Status Begin(const lzma_index_iter& block, const Request& request);
  Status StartBlock(const lzma_index_iter& block, lzma_filter* filters,
                    const Request& request);
  Result<size_t> Step(MutableBytes out, const Request& request);

  StoredReader reader_;
  const std::shared_ptr<const XzIndex> index_;
  Places* const places_;
  const uint64_t allowed_;  // bytes of memory
  uint64_t decoded_;
  LzmaStream stream_;
  lzma_block block_{};
  uint64_t block_at_ = 0;
  uint64_t block_end_ = 0;  // in decoded bytes
  bool in_block_ = false;
  bool has_checksums_ = true;
  uint64_t memory_ = limits::kMiB;
};

Status XzDecoder::Begin(const lzma_index_iter& block, const Request& request) {
  block_at_ = block.block.compressed_file_offset;
  block_end_ =
      block.block.uncompressed_file_offset + block.block.uncompressed_size;
  if (places_ != nullptr && places_->Wants(decoded_)) {
    CTXFS_TRY(places_->Add({decoded_, block_at_ * CHAR_BIT}));
  }
  std::array<lzma_filter, LZMA_FILTERS_MAX + 1> filters{};
  filters[0].id = LZMA_VLI_UNKNOWN;
  Status started = StartBlock(block, filters.data(), request);
  lzma_filters_free(filters.data(), nullptr);
  block_.filters = nullptr;  // liblzma has copied them
  in_block_ = static_cast<bool>(started);
  return started;
}

Status XzDecoder::StartBlock(const lzma_index_iter& block, lzma_filter* filters,
                             const Request& request) {
  reader_.MoveTo(block_at_);
  const Bytes start =
      CTXFS_TRY(reader_.Peek(request, LZMA_BLOCK_HEADER_SIZE_MAX));
  block_ = lzma_block{};
  block_.version = 1;
  block_.check = block.stream.flags->check;
  has_checksums_ = has_checksums_ && block_.check != LZMA_CHECK_NONE;
  block_.filters = filters;
  const auto* const header = reinterpret_cast<const uint8_t*>(start.data());
  block_.header_size =
      start.empty() ? 0 : lzma_block_header_size_decode(*header);
  if (block_.header_size < LZMA_BLOCK_HEADER_SIZE_MIN ||
      block_.header_size > start.size()) {
    return XzFailure(LZMA_DATA_ERROR, block_at_);
  }
  if (lzma_check_is_supported(block_.check) == 0) {
    return Error{Code::kUnsupported, "xz: a checksum of an unknown kind",
                 block_at_};
  }
  lzma_ret done = lzma_block_header_decode(&block_, nullptr, header);
  if (done == LZMA_OK) {
    done = lzma_block_compressed_size(&block_, block.block.unpadded_size);
  }
  if (done != LZMA_OK) return XzFailure(done, block_at_);
  memory_ = lzma_raw_decoder_memusage(filters);
  if (memory_ > allowed_) {
    const bool retry = memory_ <= kMaxDecoderMemory;
    return Error{retry ? Code::kNoMemory : Code::kLimit,
                 fmt::format("xz: decoding takes {} bytes of memory, over the "
                             "limit of {}; xz -d unpacks the file",
                             memory_, kMaxDecoderMemory),
                 block_at_};
  }
  reader_.Skip(block_.header_size);
  done = lzma_block_decoder(stream_.get(), &block_);
  return done == LZMA_OK ? Status() : Status(XzFailure(done, block_at_));
}

Result<size_t> XzDecoder::Step(MutableBytes out, const Request& request) {
  const Bytes in = CTXFS_TRY(reader_.Peek(request));
  out = out.first(std::min(out.size(), kBytesPerCheck));
  stream_->next_in = reinterpret_cast<const uint8_t*>(in.data());
  stream_->avail_in = in.size();
  stream_->next_out = reinterpret_cast<uint8_t*>(out.data());
  stream_->avail_out = out.size();
  const lzma_ret done = lzma_code(stream_.get(), LZMA_RUN);
  const uint64_t at = reader_.at() + (in.size() - stream_->avail_in);
  reader_.Skip(in.size() - stream_->avail_in);
  const size_t made = out.size() - stream_->avail_out;
  decoded_ += made;
  if (done != LZMA_OK && done != LZMA_STREAM_END) {
    // All data was decoded, so the error is in the checksum after it.
    if (done == LZMA_DATA_ERROR && decoded_ == block_end_) {
      return Error{Code::kChecksum, "xz: checksum mismatch of a block", at};
    }
    return XzFailure(done, at);
  }
  if (done == LZMA_OK) return made;
  in_block_ = false;
  if (decoded_ == block_end_) return made;
  return Error{Code::kCorrupt,
               "xz: a block does not decode to the size in the index",
               block_at_};
}

}  // namespace

std::unique_ptr<Decoder> MakeXzDecoder(SourcePtr source,
                                       std::shared_ptr<const XzIndex> index,
                                       const Place& place, Places* places,
                                       uint64_t memory) {
  return std::make_unique<XzDecoder>(std::move(source), std::move(index), place,
                                     places, memory);
}

}  // namespace ctxfs
