// SPDX-License-Identifier: Apache-2.0
//
// How fast stored vectors become float32; bytes per second are those of the
// output. The input stays in the cache, as it does between pread and reply.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/codec/numbers/convert.h"

namespace ctxfs {
namespace {

constexpr size_t kElements = 8192;

/// Bytes without a pattern; as halves, no NaNs among them.
std::vector<std::byte> Stored(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 1;
  for (std::byte& b : bytes) {
    state = state * 1664525U + 1013904223U;
    b = static_cast<std::byte>(state >> 24 & 0xBBU);
  }
  return bytes;
}

template <void (*kConvert)(Bytes, MutableBytes)>
void Halves(benchmark::State& state) {
  const std::vector<std::byte> in = Stored(2 * kElements);
  std::vector<std::byte> out(4 * kElements);
  for (auto _ : state) {
    kConvert(in, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(out.size()));
}
BENCHMARK(Halves<&HalvesToFloats>)->Name("fp16");
BENCHMARK(Halves<&HalvesToFloatsScalar>)->Name("fp16/scalar");

template <void (*kConvert)(Bytes, float, float, MutableBytes)>
void Codes(benchmark::State& state) {
  const std::vector<std::byte> in = Stored(kElements);
  std::vector<std::byte> out(4 * kElements);
  for (auto _ : state) {
    kConvert(in, 0.01F, -1.28F, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(out.size()));
}
BENCHMARK(Codes<&BytesToFloats>)->Name("int8");
BENCHMARK(Codes<&BytesToFloatsScalar>)->Name("int8/scalar");

/// All four planes, the codes of each as wide as the argument says.
void Lossless(benchmark::State& state) {
  const auto width = static_cast<unsigned>(state.range(0));
  const std::vector<std::byte> in = Stored(kElements * width / 8);
  std::vector<std::byte> out(4 * kElements);
  uint8_t dict[256];
  for (unsigned i = 0; i < 256; ++i) dict[i] = static_cast<uint8_t>(i);
  for (auto _ : state) {
    for (unsigned plane = 0; plane < 4; ++plane) {
      benchmark::DoNotOptimize(
          UnpackPlane(in, 0, width, dict, 256, plane, out));
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(out.size()));
}
BENCHMARK(Lossless)->Name("lossless")->Arg(8)->Arg(5);

}  // namespace
}  // namespace ctxfs
