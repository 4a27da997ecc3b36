// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/member_block.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/base/limits.h"
#include "core/codec/codec.h"
#include "core/content/read_context.h"
#include "core/formats/zip/methods.h"

namespace ctxfs::zip {

// libzstd needs all stored bytes in memory, but uses the output as its window.
// Other decoders have a window that is at most as long as the output.
uint64_t MemberBlock::cost() const {
  if (data_.method == kDeflate) return data_.size;
  if (data_.method == kZstd) return data_.size + data_.stored_size;
  return data_.size + std::min(data_.size, kMaxStreamMemory);
}

uint64_t MemberBlock::streamed_size() const {
  return DecoderOf(data_.method) == nullptr ? 0 : data_.size;
}

Status MemberBlock::CheckVerdict() const {
  if (verdict_->load(std::memory_order_acquire) != Verdict::kFailed) return {};
  return Error{Code::kCorrupt, "damaged: an earlier read failed", data_.offset};
}

Error MemberBlock::Mismatch() const {
  return {Code::kChecksum,
          "checksum mismatch: the decoded bytes are not " + checksum_.Text()};
}

Status MemberBlock::Conclude(Status decoded) const {
  if (decoded) {
    if (checksum_) verdict_->store(Verdict::kPassed, std::memory_order_release);
    return decoded;
  }
  Error error = std::move(decoded).error();
  if (error.code == Code::kCorrupt || error.code == Code::kChecksum) {
    verdict_->store(Verdict::kFailed, std::memory_order_release);
    error.offset = data_.offset;
  }
  return error;
}

Result<Buffer> MemberBlock::Produce(const ReadContext& context) const {
  CTXFS_TRY(CheckVerdict());
  if (data_.size > limits::kDecodedBytes) {
    return Error{
        Code::kLimit,
        fmt::format(
            "decodes to {} bytes, which is over the limit of {} in memory",
            data_.size, limits::kDecodedBytes),
        data_.offset};
  }
  Buffer decoded(static_cast<size_t>(data_.size));
  Status done = Decode(decoded.span(), context);
  if (done && !checksum_.Matches(decoded.span())) done = Mismatch();
  CTXFS_TRY(Conclude(std::move(done)));
  return decoded;
}

StoredReader MemberBlock::Stored() const {
  return {std::make_shared<const SliceSource>(source_, data_.offset,
                                              data_.stored_size),
          0};
}

Status MemberBlock::Decode(MutableBytes out, const ReadContext& context) const {
  if (data_.method == kDeflate) {
    StoredReader stored = Stored();
    return DecodeDeflate([&] { return stored.Next(context); }, out,
                         context.interrupt());
  }
  if (data_.method == kZstd && data_.stored_size <= limits::kStoredBytes) {
    const Buffer stored = CTXFS_TRY(ReadBuffer(
        *source_, data_.offset, data_.stored_size, "member", context));
    return DecodeZstd(stored.span(), out, context.interrupt());
  }
  return DecodePieces(
      [&out](Bytes piece) {
        std::copy(piece.begin(), piece.end(), out.begin());
        out = out.subspan(piece.size());
        return Status();
      },
      kMaxStreamMemory, context);
}

Status MemberBlock::DecodePieces(const Sink& sink, uint64_t memory,
                                 const ReadContext& context) const {
  StoredReader stored = Stored();
  return DecoderOf(data_.method)([&] { return stored.Next(context); },
                                 {data_.size, memory}, sink,
                                 context.interrupt());
}

Status MemberBlock::Stream(const Sink& sink, uint64_t memory,
                           const ReadContext& context) const {
  CTXFS_TRY(CheckVerdict());
  Checksummer sum(checksum_.kind);
  Status done = DecodePieces(
      [&sum, &sink](Bytes piece) {
        sum.Update(piece);
        return sink(piece);
      },
      memory, context);
  if (done && !sum.Matches(checksum_)) done = Mismatch();
  return Conclude(std::move(done));
}

}  // namespace ctxfs::zip
