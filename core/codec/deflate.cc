// SPDX-License-Identifier: Apache-2.0
//
// Raw deflate by ISA-L, which decodes about three times as fast as zlib.
#include "core/codec/deflate.h"

#include <fmt/core.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string>

namespace ctxfs {
namespace {

constexpr size_t kMaxInput = size_t{1} << 30;

const char* Reason(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK:
      return "invalid block";
    case ISAL_INVALID_SYMBOL:
      return "invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "a match reaches before the start";
    default:
      return "invalid data";
  }
}

Error WrongSize(const char* how, size_t size) {
  return {Code::kCorrupt,
          fmt::format("deflate: decodes to {} than {} bytes", how, size)};
}

}  // namespace

// Sets all of the state to zero first, because SaveState writes all of it.
DeflateDecoder::DeflateDecoder() : state_(new inflate_state()) {
  isal_inflate_init(state_.get());
  state_->crc_flag = ISAL_DEFLATE;
}

// The state has no pointers into itself, so it can be copied byte by byte.
DeflateDecoder::DeflateDecoder(Bytes state) : state_(new inflate_state) {
  std::memcpy(state_.get(), state.data(), sizeof(inflate_state));
}

DeflateDecoder::DeflateDecoder(Bytes window, std::byte byte, unsigned skip)
    : DeflateDecoder() {
  window = window.last(std::min(window.size(), kWindow));
  // ISA-L only reads the window, although the pointer is not const.
  isal_inflate_set_dict(
      state_.get(),
      reinterpret_cast<uint8_t*>(const_cast<std::byte*>(window.data())),
      static_cast<uint32_t>(window.size()));
  if (skip == 0) return;
  state_->read_in = std::to_integer<uint64_t>(byte) >> skip;
  state_->read_in_length = static_cast<int32_t>(CHAR_BIT - skip);
}

DeflateDecoder::~DeflateDecoder() = default;

void DeflateDecoder::Reset() {
  isal_inflate_reset(state_.get());
  state_->crc_flag = ISAL_DEFLATE;
}

size_t DeflateDecoder::StateBytes() { return sizeof(inflate_state); }

void DeflateDecoder::SaveState(MutableBytes state) const {
  std::memcpy(state.data(), state_.get(), sizeof(inflate_state));
  // These pointers would leak addresses (ASLR). Decode sets them again.
  auto* const saved = reinterpret_cast<inflate_state*>(state.data());
  saved->next_in = nullptr;
  saved->next_out = nullptr;
}

size_t DeflateDecoder::taken_too_many() const {
  return static_cast<size_t>(state_->read_in_length) / CHAR_BIT;
}

Result<StreamStep> DeflateDecoder::Decode(Bytes in, MutableBytes out) {
  in = in.first(std::min(in.size(), kMaxInput));
  out = out.first(std::min(out.size(), kMaxInput));
  // ISA-L only reads its input, although the pointer is not const.
  state_->next_in =
      reinterpret_cast<uint8_t*>(const_cast<std::byte*>(in.data()));
  state_->avail_in = static_cast<uint32_t>(in.size());
  state_->next_out = reinterpret_cast<uint8_t*>(out.data());
  state_->avail_out = static_cast<uint32_t>(out.size());
  const int done = isal_inflate(state_.get());
  if (done < 0) {
    return Error{Code::kCorrupt, std::string("deflate: ") + Reason(done)};
  }
  StreamStep step;
  step.taken = in.size() - state_->avail_in;
  step.made = out.size() - state_->avail_out;
  step.finished = state_->block_state == ISAL_BLOCK_FINISH;
  return step;
}

Status DecodeDeflate(const NextBytes& next, MutableBytes out,
                     const Interrupt& interrupt) {
  DeflateDecoder decoder;
  Bytes in;
  bool ended = false;
  std::array<std::byte, 64> spare{};
  for (size_t made = 0;;) {
    CTXFS_TRY(interrupt.Check());
    if (in.empty() && !ended) {
      in = CTXFS_TRY(next());
      ended = in.empty();
    }
    // When `out` is full, only the end of the stream may follow. A byte decoded
    // into `spare` means that the stream is too long.
    const bool full = made == out.size();
    const MutableBytes to =
        full ? MutableBytes(spare)
             : out.subspan(made, std::min(kBytesPerCheck, out.size() - made));
    const StreamStep step = CTXFS_TRY(decoder.Decode(in, to));
    if (full && step.made > 0) return WrongSize("more", out.size());
    in = in.subspan(step.taken);
    made += step.made;
    if (step.finished) {
      if (made == out.size()) return {};
      return WrongSize("less", out.size());
    }
    if (ended && step.made == 0) {
      return Error{Code::kCorrupt, "deflate: the stream is cut off"};
    }
  }
}

size_t DecodeDeflatePrefix(Bytes stored, MutableBytes out) {
  DeflateDecoder decoder;
  size_t made = 0;
  while (made < out.size()) {
    const Result<StreamStep> step = decoder.Decode(stored, out.subspan(made));
    if (!step) break;
    stored = stored.subspan(step->taken);
    made += step->made;
    if (step->finished || (step->made == 0 && step->taken == 0)) break;
  }
  return made;
}

}  // namespace ctxfs
