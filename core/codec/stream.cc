// SPDX-License-Identifier: Apache-2.0
#include "core/codec/stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace ctxfs {

Error StreamOutput::WrongSize(const char* how) const {
  return {Code::kCorrupt,
          fmt::format("{}: decodes to {} than {} bytes", codec_, how, size_)};
}

Status StreamOutput::Put(Bytes decoded) {
  if (decoded.size() > left()) return WrongSize("more");
  made_ += decoded.size();
  return decoded.empty() ? Status() : sink_(decoded);
}

Status StreamOutput::End() const {
  return left() == 0 ? Status() : Status(WrongSize("fewer"));
}

Status DecodeBySteps(const char* codec, const StepFunction& decode,
                     const NextBytes& next, const StreamSizes& sizes,
                     const ByteSink& sink, const Interrupt& interrupt) {
  constexpr uint64_t kPieceBytes = 256 << 10;
  StreamOutput output(codec, sizes.decoded, sink);
  Buffer piece(kPieceBytes);
  Bytes in;
  bool ended = false;
  while (true) {
    CTXFS_TRY(interrupt.Check());
    if (in.empty() && !ended) {
      in = CTXFS_TRY(next());
      ended = in.empty();
    }
    // Has room for one byte more than expected, to detect a stream that is too
    // long.
    const uint64_t room = std::min(kPieceBytes - 1, output.left()) + 1;
    const MutableBytes out = piece.span().first(static_cast<size_t>(room));
    const StreamStep step = CTXFS_TRY(decode(in, out));
    in = in.subspan(step.taken);
    CTXFS_TRY(output.Put(out.first(step.made)));
    if (step.finished) return sizes.at_most ? Status() : output.End();
    const bool stuck = step.made == 0 && step.taken == 0;
    if (stuck && (ended || !in.empty())) {
      return Error{Code::kCorrupt,
                   std::string(codec) + ": the stream is cut off"};
    }
  }
}

}  // namespace ctxfs
