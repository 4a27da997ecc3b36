// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/opening_reads.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

std::string FoundIn(const OpeningReads& reads, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const bool found = reads.Find(
      offset, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
  return found ? bytes : "";
}

/// Those of a source of `size` bytes that are saved as `saved`.
Status LoadInto(OpeningReads& reads, std::string_view saved, uint64_t size) {
  ByteReader in(AsBytes(saved));
  return reads.Load(in, size);
}

TEST(OpeningReads, WhatWasReadIsFoundByWhoLoadsIt) {
  const std::string text = Noise(10'000);
  OpeningReads recorded;
  recorded.Record();
  std::mt19937 random(1);
  std::string known(text.size(), '\0');
  for (int i = 0; i < 200; ++i) {
    const size_t at = random() % text.size();
    const size_t size = std::min<size_t>(text.size() - at, random() % 60);
    recorded.Add(at, AsBytes(text).subspan(at, size));
    known.replace(at, size, size, 'x');
  }
  EXPECT_EQ(FoundIn(recorded, 0, 1), "") << "not while it is recorded";
  std::string saved;
  ASSERT_TRUE(recorded.SaveAndClear(saved));

  OpeningReads loaded;
  ASSERT_TRUE(Ok(LoadInto(loaded, saved, text.size())));
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string found = FoundIn(loaded, at, 1);
    EXPECT_EQ(found, known[at] == 'x' ? text.substr(at, 1) : "") << at;
  }
  EXPECT_FALSE(Ok(LoadInto(loaded, saved, text.size() / 2)));
  EXPECT_FALSE(Ok(LoadInto(loaded, saved.substr(0, 40), text.size())));
}

TEST(OpeningReads, NothingIsSavedThatWasNotRecorded) {
  OpeningReads reads;
  reads.Add(0, AsBytes("abc"));
  std::string saved;
  EXPECT_FALSE(reads.SaveAndClear(saved));
}

TEST(OpeningReads, TooManyAreNone) {
  OpeningReads reads;
  reads.Record();
  const std::string piece = Noise(limits::kMiB);
  for (uint64_t i = 0; i <= OpeningReads::kMax / limits::kMiB; ++i) {
    reads.Add(2 * i * limits::kMiB, AsBytes(piece));
  }
  std::string saved;
  EXPECT_TRUE(reads.SaveAndClear(saved)) << "the index is kept all the same";

  OpeningReads loaded;
  ASSERT_TRUE(Ok(LoadInto(loaded, saved, UINT64_MAX)));
  EXPECT_EQ(FoundIn(loaded, 0, 1), "");
}

}  // namespace
}  // namespace ctxfs
