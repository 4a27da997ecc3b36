// SPDX-License-Identifier: Apache-2.0
//
// Dequantising on one core: the kernels alone, and windows of 1 MiB through a
// Content as a READ asks for them. Bytes are those of the float32 values.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "core/codec/numbers/dequant.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/formats/gguf/header.h"
#include "core/io/source.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

std::string RandomBytes(size_t size) {
  std::mt19937 random(1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void Kernel(benchmark::State& state, const DequantKernels* kernels) {
  constexpr size_t kBlocks = 1024;
  const auto bits = static_cast<unsigned>(state.range(0));
  const std::string codes = RandomBytes(kBlocks * BlockBytes(bits));
  const std::vector<float> scales(kBlocks, 0.125F);
  std::vector<std::byte> out(kBlocks * kBlockFloatBytes);
  for (auto _ : state) {
    kernels->blocks(bits, AsBytes(codes).data(), scales.data(), kBlocks,
                    out.data());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(out.size()));
}
BENCHMARK_CAPTURE(Kernel, scalar, &kScalarDequant)
    ->Arg(8)
    ->Arg(6)
    ->Arg(4)
    ->Arg(3)
    ->Arg(2);
BENCHMARK_CAPTURE(Kernel, vectors, &FastestDequant())
    ->Arg(8)
    ->Arg(6)
    ->Arg(4)
    ->Arg(3)
    ->Arg(2);

void PutNumber(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
}

/// An MCF container of one tensor named "w".
std::string OneTensor(uint32_t dtype, uint64_t rows, uint64_t columns,
                      const std::string& payload) {
  constexpr uint64_t kIndexAt = 40;
  constexpr uint64_t kIndexSize = 48 + 40 + 16 + 1;
  constexpr uint64_t kDirectoryAt = 152;
  constexpr uint64_t kDataAt = 256;
  std::string bytes("MCF\0\1\0\1\0", 8);
  PutNumber(bytes, kIndexAt, 4);
  PutNumber(bytes, 1, 4);
  PutNumber(bytes, kDirectoryAt, 8);
  PutNumber(bytes, kDataAt + payload.size(), 8);
  PutNumber(bytes, 1, 8);
  for (const uint32_t word : {1U, 3U, 1U, 2U}) PutNumber(bytes, word, 4);
  for (const uint64_t at : {48U, 88U, 104U, 1U}) PutNumber(bytes, at, 8);
  for (const uint32_t word : {0U, 1U, dtype, 2U, 0U, 0U}) {
    PutNumber(bytes, word, 4);
  }
  for (const uint64_t value : {kDataAt, payload.size(), rows, columns}) {
    PutNumber(bytes, value, 8);
  }
  bytes += 'w';
  bytes.resize(kDirectoryAt);
  PutNumber(bytes, 3, 4);
  PutNumber(bytes, 1, 4);
  PutNumber(bytes, kIndexAt, 8);
  PutNumber(bytes, kIndexSize, 8);
  bytes.resize(kDataAt);
  return bytes + payload;
}

/// `dtype`, bits of a code, columns of 1024 rows.
void Windows(benchmark::State& state) {
  constexpr uint64_t kRows = 1024;
  const auto dtype = static_cast<uint32_t>(state.range(0));
  const auto bits = static_cast<uint64_t>(state.range(1));
  const auto columns = static_cast<uint64_t>(state.range(2));
  const auto align = [](uint64_t n) { return (n + 63) / 64 * 64; };
  const uint64_t blocks = kRows * ((columns + 31) / 32);
  const uint64_t supers = kRows * ((columns + 255) / 256);
  const uint64_t codes_at =
      dtype < 0x30 ? align(2 * blocks) : align(align(2 * supers) + blocks);
  const auto container = OpenContainer(
      std::make_shared<const MemorySource>(OneTensor(
          dtype, kRows, columns, RandomBytes(codes_at + blocks * 4 * bits))),
      OpenOptions());
  BlockCache cache(0);
  const Content content = *ArraysOf(**container).at(0).open(cache);
  constexpr size_t kWindow = 1 << 20;
  Window window;
  uint64_t at = 0;
  for (auto _ : state) {
    if (at + kWindow > content.size()) at = 0;
    if (!content.Read(at, kWindow, cache, window)) {
      state.SkipWithError("cannot be read");
      return;
    }
    benchmark::DoNotOptimize(window.slices().data());
    at += kWindow;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(kWindow));
}
BENCHMARK(Windows)
    ->ArgNames({"dtype", "bits", "columns"})
    ->Args({0x20, 8, 4096})
    ->Args({0x21, 4, 4096})
    ->Args({0x30, 6, 4096})
    ->Args({0x31, 4, 4096})
    ->Args({0x32, 3, 4096})
    ->Args({0x33, 2, 4096})
    ->Args({0x31, 4, 4000})
    ->Args({0x31, 4, 4001});

/// The blocks of a GGUF type, 64 KiB of them as a READ takes them.
void Gguf(benchmark::State& state, const DequantKernels* kernels) {
  const gguf::GgufType* quant =
      gguf::GgufQuantOf(static_cast<uint32_t>(state.range(0)));
  if (quant == nullptr) {
    state.SkipWithError("the code has no values");
    return;
  }
  const size_t count = (64U << 10) / quant->bytes;
  const std::string blocks = RandomBytes(count * quant->bytes);
  std::vector<std::byte> out(count * quant->block * sizeof(float));
  for (auto _ : state) {
    gguf::GgufDequantizeBy(*kernels, *quant, AsBytes(blocks).data(), count,
                           out.data());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetLabel(std::string(quant->name));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(out.size()));
}

void GgufTypes(benchmark::internal::Benchmark* benchmark) {
  for (uint32_t code = 0; code < 64; ++code) {
    if (gguf::GgufQuantOf(code) != nullptr) benchmark->Arg(code);
  }
}
BENCHMARK_CAPTURE(Gguf, scalar, &kScalarDequant)->Apply(&GgufTypes);
BENCHMARK_CAPTURE(Gguf, vectors, &FastestDequant())->Apply(&GgufTypes);

}  // namespace
}  // namespace ctxfs
