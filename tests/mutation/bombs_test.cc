// SPDX-License-Identifier: Apache-2.0
//
// Small payloads that decode to much: no codec writes past what was allocated,
// and nothing is allocated for what a container merely says.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/base/sanitized.h"
#include "core/codec/codec.h"
#include "core/formats/graph/limits.h"
#include "tests/mutation/judge.h"
#include "tests/mutation/peak.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

constexpr size_t kDecoded = 64 * limits::kMiB;

struct Bomb {
  const char* name;
  std::string (*pack)(const std::string&);
  Status (*decode)(Bytes, MutableBytes, const Interrupt&);
};

const Bomb kBombs[] = {
    {"zstd", [](const std::string& s) { return Zstd(s); }, &DecodeZstd},
    {"zstd_unsized",
     [](const std::string& s) {
       return Zstd(s, {false, false});
     },
     &DecodeZstd},
    {"lz4", [](const std::string& s) { return Lz4(s); }, &DecodeLz4},
    {"lz4_lenient", [](const std::string& s) { return Lz4(s); },
     &DecodeLz4Lenient},
    {"gzip", [](const std::string& s) { return Gzip(s); }, &DecodeGzip},
};

class Bombs : public testing::TestWithParam<Bomb> {};

TEST_P(Bombs, WriteNothingPastTheirRoom) {
  const std::string packed = GetParam().pack(std::string(kDecoded, '\0'));
  ASSERT_LT(packed.size(), kDecoded / 200) << "is no bomb";
  for (const size_t room : {0U, 1U, 1000U, 1U << 20U}) {
    std::string out(room + 64, '\x5A');
    ForgetPeak();
    const uint64_t before = PeakBytes();
    const Status status = GetParam().decode(
        AsBytes(packed), {reinterpret_cast<std::byte*>(out.data()), room},
        NeverInterrupted());
    ASSERT_FALSE(status) << room;
    EXPECT_EQ(status.error().code, Code::kCorrupt);
    EXPECT_EQ(out.substr(room), std::string(64, '\x5A'));
    if (CTXFS_SANITIZED == 0) {
      EXPECT_LT(PeakBytes(), before + 4 * limits::kMiB);
    }
  }
  std::string all(kDecoded, '\x5A');
  EXPECT_TRUE(GetParam().decode(
      AsBytes(packed), {reinterpret_cast<std::byte*>(all.data()), kDecoded},
      NeverInterrupted()));
  EXPECT_EQ(all, std::string(kDecoded, '\0'));
  // And of a claim of one byte more there is nothing.
  std::string more(kDecoded + 1, '\x5A');
  EXPECT_FALSE(GetParam().decode(
      AsBytes(packed), {reinterpret_cast<std::byte*>(more.data()), more.size()},
      NeverInterrupted()));
}

INSTANTIATE_TEST_SUITE_P(Codecs, Bombs, testing::ValuesIn(kBombs),
                         [](const auto& instance) {
                           return std::string(instance.param.name);
                         });

TEST(BombPrefix, TakesNoMoreThanWasAsked) {
  const std::string zeros(kDecoded, '\0');
  for (const auto& [codec, packed] :
       {std::pair(Codec::kZstd, Zstd(zeros)),
        std::pair(Codec::kZstd, Zstd(zeros, {false, false})),
        std::pair(Codec::kLz4, Lz4(zeros))}) {
    std::string out(1064, '\x5A');
    const size_t n =
        DecodePrefix(codec, AsBytes(packed),
                     {reinterpret_cast<std::byte*>(out.data()), 1000});
    EXPECT_EQ(n, 1000U);
    EXPECT_EQ(out.substr(1000), std::string(64, '\x5A'));
  }
}

/// A Shard of one entry, whose index says that it decodes to `claim` bytes.
std::string ShardBomb(const std::string& stored, uint16_t flags,
                      uint64_t claim) {
  ShardSpec spec;
  spec.entries.push_back({"bomb", stored, flags, claim, 0});
  return BuildShard(spec);
}

TEST(BombEntries, CostWhatTheyDecodeToAtTheMost) {
  const std::string zeros(kDecoded, '\0');
  const std::pair<std::string, uint16_t> packs[] = {
      {Zstd(zeros), 0x0003},
      {Zstd(zeros, {false, false}), 0x0003},
      {Lz4(zeros), 0x0005}};
  for (const auto& [packed, flags] : packs) {
    for (const uint64_t claim :
         {uint64_t{0}, uint64_t{1000}, uint64_t{kDecoded - 1},
          uint64_t{kDecoded}, uint64_t{kDecoded + 1}, limits::kDecodedBytes + 1,
          uint64_t{1} << 40U, uint64_t{1} << 63U, UINT64_MAX}) {
      const auto container = OpenBytes(ShardBomb(packed, flags, claim));
      if (!container) continue;  // refused at once, which is as well
      ForgetPeak();
      const uint64_t before = PeakBytes();
      const Result<std::string> read = ReadEntry(**container, 0);
      if (read) {
        EXPECT_EQ(*read, zeros);
        EXPECT_EQ(claim, kDecoded);
      }
      // What was read, the string of it, and the library's state.
      const uint64_t most = claim > limits::kDecodedBytes ? 0 : 2 * claim;
      if (CTXFS_SANITIZED == 0) {
        EXPECT_LT(PeakBytes(), before + most + 4 * limits::kMiB) << claim;
      }
    }
  }
}

TEST(BombGraphs, CostWhatIsThereAndNotWhatIsSaid) {
  const std::string graph("SJGN\x01\x00\x00", 7);
  for (const uint64_t claim :
       {uint64_t{7}, uint64_t{8}, graph::kMaxBytes, graph::kMaxBytes + 1}) {
    std::string packed = std::string("SJGZ\0\0\0\0", 8) + Zstd(graph);
    Poke(packed, 4, static_cast<uint32_t>(claim));
    ForgetPeak();
    const uint64_t before = PeakBytes();
    const auto container =
        OpenContainer(std::make_shared<const MemorySource>(packed), {});
    EXPECT_EQ(container.has_value(), claim == graph.size()) << claim;
    if (CTXFS_SANITIZED == 0) {
      EXPECT_LT(PeakBytes(), before + 4 * limits::kMiB) << claim;
    }
  }
}

// A lack of memory is no damage: it is not remembered against the entry.
TEST(NoMemory, IsToldFromDamage) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "sanitizers end the process";
  const std::string zeros(limits::kMiB, '\0');
  const std::string packed = Zstd(zeros);
  std::string out(zeros.size(), '\x5A');
  const MutableBytes room{reinterpret_cast<std::byte*>(out.data()), out.size()};
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    const rlimit limit{most, most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
    // What the heap still has is used up, down to less than a decoder takes
    // and more than an Error does.
    void* last[4] = {};
    for (size_t i = 0; void* block = std::malloc(4096); ++i) {
      std::swap(last[i % 4], block);
    }
    for (void* block : last) std::free(block);
    const Status status = DecodeZstd(AsBytes(packed), room);
    ::_exit(!status && status.error().code == Code::kNoMemory ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace ctxfs
