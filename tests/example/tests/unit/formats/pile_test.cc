// SPDX-License-Identifier: Apache-2.0
//
// The worked example of docs/adding-a-format.md works.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/codec/checksum.h"
#include "core/container/format.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {

extern const Format kPile;

namespace {

template <typename T>
std::string Le(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// A PILE of these names and bytes.
std::string BuildPile(
    const std::vector<std::pair<std::string, std::string>>& entries) {
  uint64_t at = 8;
  for (const auto& [name, bytes] : entries) at += 22 + name.size();
  std::string index = "PILE" + Le(static_cast<uint32_t>(entries.size()));
  std::string data;
  for (const auto& [name, bytes] : entries) {
    index += Le(static_cast<uint16_t>(name.size())) + name +
             Le(at + data.size()) + Le(uint64_t{bytes.size()}) +
             Le(Crc32c(AsBytes(bytes)));
    data += bytes;
  }
  return index + data;
}

Result<std::shared_ptr<const Container>> OpenPile(std::string bytes) {
  EXPECT_TRUE(kPile.probe(AsBytes(bytes)));
  return kPile.open(std::make_shared<MemorySource>(std::move(bytes)),
                    OpenOptions(), LoneContext());
}

TEST(ExampleFormat, ShowsEntriesAsTheyAreStored) {
  const auto pile = OpenPile(BuildPile({{"a/b", "hello"}, {"empty", ""}}));
  ASSERT_TRUE(Ok(pile));
  ASSERT_EQ(EntryCount(**pile), 2U);
  EXPECT_EQ(EntryPath(**pile, 0), "a/b");
  EXPECT_EQ(EntrySize(**pile, 0), 5U);
  EXPECT_EQ(*ReadAll(*OpenEntry(**pile, 0), LoneContext()), "hello");
  EXPECT_EQ(*ReadAll(*OpenEntry(**pile, 1), LoneContext()), "");
  EXPECT_EQ((*pile)->Info(LoneContext())["entries"], 2);
}

TEST(ExampleFormat, ServesNoByteOfADamagedEntry) {
  std::string bytes = BuildPile({{"a", "hello"}, {"b", "there"}});
  bytes.back() ^= 1;
  const auto pile = OpenPile(std::move(bytes));
  ASSERT_TRUE(Ok(pile));
  EXPECT_EQ(*ReadAll(*OpenEntry(**pile, 0), LoneContext()), "hello");
  const auto damaged = ReadAll(*OpenEntry(**pile, 1), LoneContext());
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::kChecksum);
}

TEST(ExampleFormat, AnEntryPastTheEndTakesNoOtherWithIt) {
  std::string bytes = BuildPile({{"a", "hello"}, {"b", "there"}});
  bytes.pop_back();
  const auto pile = OpenPile(std::move(bytes));
  ASSERT_TRUE(Ok(pile));
  EXPECT_EQ(*ReadAll(*OpenEntry(**pile, 0), LoneContext()), "hello");
  EXPECT_EQ(EntrySize(**pile, 1), 0U);
  const auto fault = EntryFault(**pile, 1);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->offset, 8U + 23);  // its record
}

TEST(ExampleFormat, BelievesNoCount) {
  for (const uint32_t count : {2U, 1'000U, UINT32_MAX}) {
    std::string bytes = BuildPile({{"a", "hello"}});
    bytes.replace(4, 4, Le(count));
    const auto pile = OpenPile(std::move(bytes));
    ASSERT_FALSE(pile) << count;
    EXPECT_EQ(pile.error().code, Code::kCorrupt);
  }
  EXPECT_FALSE(OpenPile("PILE"));
  EXPECT_FALSE(OpenPile("PILE\1"));
}

}  // namespace
}  // namespace ctxfs
