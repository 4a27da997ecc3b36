// SPDX-License-Identifier: Apache-2.0
//
// Golden cowrie values, cut and changed at every byte: too many to mount each.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/io/source.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

class DamagedCowrie : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string folder = CTXFS_GOLDEN_DIR "/shard-profiles/synthetic/";
    std::ifstream in(folder + GetParam(), std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(in), {});
    ASSERT_FALSE(whole_.empty());
  }

  std::string whole_;
};

TEST_P(DamagedCowrie, IsRefusedIfCut) {
  for (size_t size = 0; size < whole_.size(); ++size) {
    EXPECT_FALSE(cowrie::DecodeCowrie(AsBytes(whole_.substr(0, size)))) << size;
  }
}

// What is found in a value with a changed byte can be read.
TEST_P(DamagedCowrie, IsReadOrRefusedIfChanged) {
  for (size_t at = 0; at < whole_.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = whole_;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto container =
          OpenContainer(std::make_shared<const MemorySource>(damaged), {});
      if (!container) continue;
      BlockCache cache(limits::kMiB);
      for (const ArrayInfo& array : ArraysOf(**container)) {
        const Result<Content> content = array.open(cache);
        ASSERT_TRUE(content) << at;
        EXPECT_TRUE(ReadAll(*content, cache)) << at;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, DamagedCowrie,
                         testing::Values("graphshard_gen1.cowrie",
                                         "graphshard_gen2.cowrie"));

}  // namespace
}  // namespace ctxfs
