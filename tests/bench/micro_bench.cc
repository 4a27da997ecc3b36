// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the library cost, one at a time.
#include <benchmark/benchmark.h>
#include <lz4.h>
#include <malloc.h>
#include <zstd.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"
#include "core/content/window.h"
#include "core/tree/name_tree.h"

namespace ctxfs {
namespace {

constexpr size_t kDecoded = size_t{16} << 20;

/// Half random, half repeated: about 2:1 for both codecs.
const std::string& Plain() {
  static const std::string plain = [] {
    constexpr size_t kRun = 32;
    std::mt19937_64 random(1);
    std::string bytes;
    while (bytes.size() < kDecoded) {
      for (size_t i = 0; i < kRun; ++i) bytes += static_cast<char>(random());
      bytes.append(kRun, '\0');
    }
    return bytes;
  }();
  return plain;
}

std::string Zstd(const std::string& plain) {
  std::string stored(ZSTD_compressBound(plain.size()), '\0');
  stored.resize(ZSTD_compress(stored.data(), stored.size(), plain.data(),
                              plain.size(), 3));
  return stored;
}

std::string Lz4(const std::string& plain) {
  const auto size = static_cast<int>(plain.size());
  std::string stored(static_cast<size_t>(LZ4_compressBound(size)), '\0');
  const int n = LZ4_compress_default(plain.data(), stored.data(), size,
                                     static_cast<int>(stored.size()));
  stored.resize(static_cast<size_t>(n));
  return stored;
}

void CountBytes(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void BM_Crc32c(benchmark::State& state) {
  const std::string bytes = Plain().substr(0, size_t(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(AsBytes(bytes)));
  CountBytes(state, bytes.size());
}
BENCHMARK(BM_Crc32c)->Arg(4 << 10)->Arg(256 << 10)->Arg(16 << 20);

using Decoder = Status (*)(Bytes, MutableBytes, const Interrupt&);

void RunDecode(benchmark::State& state, const std::string& stored,
               Decoder decode, bool fresh) {
  // Else the allocator learns to keep what it was given back.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  Buffer out(kDecoded);
  std::memset(out.data(), 0, out.size());
  for (auto _ : state) {
    if (fresh) out = Buffer(kDecoded);
    if (!decode(AsBytes(stored), out.span(), NeverInterrupted())) {
      state.SkipWithError("damaged");
    }
  }
  CountBytes(state, kDecoded);
}

void BM_Zstd(benchmark::State& state) {
  RunDecode(state, Zstd(Plain()), &DecodeZstd, state.range(0) != 0);
}
void BM_Lz4(benchmark::State& state) {
  RunDecode(state, Lz4(Plain()), &DecodeLz4, state.range(0) != 0);
}
void BM_Lz4Lenient(benchmark::State& state) {
  RunDecode(state, Lz4(Plain()), &DecodeLz4Lenient, state.range(0) != 0);
}
// The difference is what the kernel takes for pages never used before.
BENCHMARK(BM_Zstd)->ArgName("fresh_pages")->Arg(0)->Arg(1);
BENCHMARK(BM_Lz4)->ArgName("fresh_pages")->Arg(0)->Arg(1);
BENCHMARK(BM_Lz4Lenient)->ArgName("fresh_pages")->Arg(0)->Arg(1);

class ZeroBlock final : public Block {
 public:
  explicit ZeroBlock(uint64_t index) : Block({1, index}) {}
  uint64_t cost() const override { return kDecoded; }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    Buffer buffer(kDecoded);
    std::memset(buffer.data(), 0, buffer.size());
    return buffer;
  }
};

// Shared by the threads of a benchmark.
BlockCache& Cache() {
  static BlockCache cache(uint64_t{256} << 20);
  return cache;
}

void BM_CacheHit(benchmark::State& state) {
  const ZeroBlock block(static_cast<uint64_t>(state.thread_index()));
  for (auto _ : state) benchmark::DoNotOptimize(Cache().Get(block, Cache()));
}
BENCHMARK(BM_CacheHit)->Threads(1)->Threads(2)->UseRealTime();

void BM_ReadCachedBlock(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Content content;
  content.Append(Decoded{std::make_shared<ZeroBlock>(100), 0}, kDecoded);
  Window window;
  uint64_t at = 0;
  for (auto _ : state) {
    if (!content.Read(at, size, Cache(), window)) state.SkipWithError("read");
    benchmark::DoNotOptimize(window.slices().data());
    at = (at + size) % kDecoded;
  }
}
BENCHMARK(BM_ReadCachedBlock)->Arg(4 << 10)->Arg(128 << 10)->Arg(1 << 20);

/// "00012", "attn", "q_proj.weight 7": as many files as asked for, 40 a layer.
NameTree MakeTree(uint32_t files) {
  constexpr uint32_t kPerLayer = 40;
  TreeBuilder builder(files);
  const NodeId layers = builder.MakeDirectory(NameTree::kRoot, "layers");
  for (uint32_t i = 0; i < files; ++i) {
    const NodeId layer =
        builder.MakeDirectory(layers, std::to_string(i / kPerLayer));
    const NodeId group = builder.MakeDirectory(layer, i % 2 ? "attn" : "mlp");
    builder.AddFile(group, "q_proj.weight" + std::to_string(i % kPerLayer), i);
  }
  return *std::move(builder).Build();
}

/// Bytes in use by whoever allocated them.
double Allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

void BM_TreeBuild(benchmark::State& state) {
  const auto files = static_cast<uint32_t>(state.range(0));
  double bytes = 0;
  for (auto _ : state) {
    const double before = Allocated();
    const NameTree tree = MakeTree(files);
    bytes = (Allocated() - before) / tree.node_count();
  }
  state.counters["bytes/node"] = bytes;
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_TreeBuild)
    ->Arg(200'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

void BM_TreeLookup(benchmark::State& state) {
  const NameTree tree = MakeTree(static_cast<uint32_t>(state.range(0)));
  std::mt19937 random(1);
  std::vector<NodeId> nodes(4096);
  std::uniform_int_distribution<NodeId> any(1, tree.node_count() - 1);
  for (NodeId& node : nodes) node = any(random);
  size_t i = 0;
  for (auto _ : state) {
    const NodeId node = nodes[i++ % nodes.size()];
    benchmark::DoNotOptimize(tree.Lookup(tree.Parent(node), tree.Name(node)));
  }
}
BENCHMARK(BM_TreeLookup)->Arg(200'000)->Arg(1'000'000);

}  // namespace
}  // namespace ctxfs
