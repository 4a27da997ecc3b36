// SPDX-License-Identifier: Apache-2.0
//
// Every single bit of what a checksum covers, flipped: the entry cannot be
// read. In a compressed one a bit may say nothing (a zstd frame's unused bits):
// then its bytes are what they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/content/content.h"
#include "core/tree/container_tree.h"
#include "tests/mutation/judge.h"

namespace ctxfs {
namespace {

struct Covered {
  std::string path;
  std::string bytes;
  uint64_t begin;  // of the stored bytes, in the container
  uint64_t end;
  bool raw;
};

class Flips : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    golden_ = FindGolden(GetParam());
    ASSERT_TRUE(golden_) << "no golden container " << GetParam();
  }

  std::unique_ptr<ContainerTree> Open(const std::string& bytes) const {
    MemoryFolder::Bytes files = golden_->files;
    files[golden_->target] = std::make_shared<const std::string>(bytes);
    const auto folder = std::make_shared<const MemoryFolder>(std::move(files));
    auto container =
        OpenContainer(*folder->Open(golden_->target), StrictOptions());
    return container ? std::make_unique<ContainerTree>(std::move(*container))
                     : nullptr;
  }

  static std::optional<std::string> Read(const ContainerTree& container_tree,
                                         NodeId node) {
    BlockCache cache(kCacheBytes);
    const Result<Content> content = container_tree.Open(node, cache);
    if (!content) return std::nullopt;
    Result<std::string> bytes = ReadAll(*content, cache);
    if (!bytes) return std::nullopt;
    return std::move(*bytes);
  }

  static std::optional<NodeId> Find(const ContainerTree& container_tree,
                                    const std::string& path) {
    for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
      if (!container_tree.IsDirectory(node) &&
          container_tree.Path(node) == path)
        return node;
    }
    return std::nullopt;
  }

  std::vector<Covered> CoveredFiles(const std::string& bytes) const {
    std::vector<Covered> covered;
    const std::unique_ptr<ContainerTree> container_tree = Open(bytes);
    if (container_tree == nullptr) return covered;
    for (NodeId node = 0; node < container_tree->tree().node_count(); ++node) {
      if (container_tree->IsDirectory(node)) continue;
      const std::optional<EntryInfo> info =
          container_tree->Describe(node, LoneContext());
      if (!info || !IsCovered(*info)) continue;
      std::optional<std::string> read = Read(*container_tree, node);
      if (!read) continue;
      covered.push_back({container_tree->Path(node), std::move(*read),
                         info->offset, info->offset + info->stored_size,
                         info->codec == "none" || info->kind == "chunk" ||
                             info->codec == "aes-256-gcm"});
      if (info->kind == "section" && info->codec != "none") {
        // A .mem8 that is packed: its offsets are those of what is in it.
        covered.back().begin = 24;
        covered.back().end = bytes.size();
      }
    }
    return covered;
  }

  std::optional<GoldenCase> golden_;
};

TEST_P(Flips, AreErrors) {
  std::string bytes = *golden_->files.at(golden_->target);
  const std::vector<Covered> covered = CoveredFiles(bytes);
  ASSERT_FALSE(covered.empty());
  uint64_t flips = 0;
  uint64_t silent = 0;
  for (uint64_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const uint64_t at = bit / 8;
    const bool any = std::any_of(
        covered.begin(), covered.end(),
        [&](const Covered& c) { return c.begin <= at && at < c.end; });
    if (!any) continue;
    const auto flip = static_cast<char>(1U << (bit % 8));
    bytes[at] = static_cast<char>(bytes[at] ^ flip);
    const std::unique_ptr<ContainerTree> container_tree = Open(bytes);
    for (const Covered& file : covered) {
      if (at < file.begin || at >= file.end) continue;
      ++flips;
      if (container_tree == nullptr) continue;
      const std::optional<NodeId> node = Find(*container_tree, file.path);
      const std::optional<std::string> read =
          node ? Read(*container_tree, *node) : std::nullopt;
      if (!read) continue;
      ++silent;
      ASSERT_FALSE(file.raw) << file.path << ", bit " << bit << ": was read";
      ASSERT_EQ(*read, file.bytes) << file.path << ", bit " << bit;
    }
    bytes[at] = static_cast<char>(bytes[at] ^ flip);
  }
  std::printf("%s: %llu flips, %llu of them said nothing\n", GetParam(),
              static_cast<unsigned long long>(flips),
              static_cast<unsigned long long>(silent));
  EXPECT_GT(flips, 0U);
  EXPECT_LT(silent, flips / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, Flips,
    testing::Values("shard/entries_1.shard", "shard/comp_lz4_go.shard",
                    "shard/stream_lz4.shard", "shard/crc_ieee_polynomial.shard",
                    "shard/zstd_frame_variants.shard", "shard/tags.shard",
                    "wshard/no_meta.wshard", "wshard/align0.wshard",
                    "cvc/v1_int8_chunkmeta.cvc", "cvc/v2_one_row.cvc",
                    "cvc/v1_lossless_widths_6_5_4_1.cvc", "mem8/full.mem8",
                    "mem8/compressed.mem8", "conventions/adapter.mosh",
                    "conventions/json.tshard",
                    "shard-profiles/golden_inputs.smpl",
                    "shard-profiles/role6.umsh"),
    [](const auto& instance) {
      std::string name = instance.param;
      std::replace_if(
          name.begin(), name.end(),
          [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

}  // namespace
}  // namespace ctxfs
