// SPDX-License-Identifier: Apache-2.0
#include <brotli/decode.h>

#include <memory>
#include <new>

#include "core/codec/stream.h"

namespace ctxfs {
namespace {

using BrotliState =
    std::unique_ptr<BrotliDecoderState, void (*)(BrotliDecoderState*)>;

Result<StreamStep> BrotliStep(BrotliDecoderState* state, Bytes in,
                              MutableBytes out) {
  size_t in_left = in.size();
  size_t out_left = out.size();
  const auto* next_in = reinterpret_cast<const uint8_t*>(in.data());
  auto* next_out = reinterpret_cast<uint8_t*>(out.data());
  const BrotliDecoderResult done = BrotliDecoderDecompressStream(
      state, &in_left, &next_in, &out_left, &next_out, nullptr);
  if (done == BROTLI_DECODER_RESULT_ERROR) {
    return Error{Code::kCorrupt, "brotli: invalid data"};
  }
  return StreamStep{in.size() - in_left, out.size() - out_left,
                    done == BROTLI_DECODER_RESULT_SUCCESS};
}

}  // namespace

Status DecodeBrotliStream(const NextBytes& next, const StreamSizes& sizes,
                          const ByteSink& sink, const Interrupt& interrupt) {
  const BrotliState state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr),
      &BrotliDecoderDestroyInstance);
  if (state == nullptr) throw std::bad_alloc();
  return DecodeBySteps(
      "brotli",
      [&state](Bytes in, MutableBytes out) {
        return BrotliStep(state.get(), in, out);
      },
      next, sizes, sink, interrupt);
}

}  // namespace ctxfs
