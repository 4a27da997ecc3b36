// SPDX-License-Identifier: Apache-2.0
//
// golden/conventions by the library: encryption with a key, deltas, tiles.
// Errors, key files and modes are tests/mount/test_golden_conventions.py.
#include <cmath>
#include <cstring>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/hex.h"

namespace ctxfs {
namespace {

std::shared_ptr<const Container> Open(const std::string& name,
                                      const std::string& key = {}) {
  OpenOptions options;
  if (!key.empty()) {
    options.key = std::make_shared<const MasterKey>(AsBytes(key));
  }
  auto source = FileSource::Open(golden::PathOf("conventions/" + name));
  EXPECT_TRUE(source);
  auto container = OpenContainer(*source, options);
  EXPECT_TRUE(container);
  return *container;
}

Json Answer(const std::string& name) {
  return golden::AnswerOf("conventions/" + name);
}

Result<std::string> Read(const Result<Content>& content, BlockCache& cache) {
  if (!content) return content.error();
  return ReadAll(*content, cache);
}

TEST(Encryption, OpensWithTheKeyAlone) {
  const Json answer = Answer("encrypted.mosh");
  const std::string key = FromHex(answer["key"]);
  const auto with_key = Open("encrypted.mosh", key);
  const auto without = Open("encrypted.mosh");
  const auto wrong = Open("encrypted.mosh", std::string(32, 'w'));
  for (uint32_t i = 0; i < answer["entries"].size(); ++i) {
    const Json& entry = answer["entries"][i];
    SCOPED_TRACE(entry["name"]);
    BlockCache cache(limits::kMiB);
    const bool sealed = entry.value("encrypted", true);
    EXPECT_EQ(EntryLocked(*without, i), sealed);
    EXPECT_FALSE(EntryLocked(*with_key, i));
    EXPECT_EQ(EntrySize(*without, i), EntrySize(*with_key, i));
    const Result<std::string> bytes = Read(OpenEntry(*with_key, i), cache);
    if (entry.contains("error")) {
      EXPECT_FALSE(bytes);
      continue;
    }
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(EntrySize(*with_key, i), entry["size"]);
    EXPECT_EQ(golden::Sha256(*bytes), entry["sha256"]);
    if (!sealed) continue;
    EXPECT_EQ(OpenEntry(*without, i).error().code, Code::kLocked);
    const Result<std::string> guess = Read(OpenEntry(*wrong, i), cache);
    ASSERT_FALSE(guess);
    EXPECT_EQ(guess.error().code, Code::kChecksum);
  }
}

void CheckWindows(const Content& content, const std::string& whole) {
  BlockCache cache(limits::kMiB);
  Window window;
  uint64_t random = 7;
  for (int i = 0; i < 200 && !whole.empty(); ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const uint64_t at = (random >> 33) % whole.size();
    const uint64_t length = 1 + (random >> 13) % (whole.size() - at);
    ASSERT_TRUE(content.Read(at, static_cast<size_t>(length), cache, window));
    std::string part;
    for (const Bytes slice : window.slices()) part += AsText(slice);
    ASSERT_EQ(part, whole.substr(static_cast<size_t>(at),
                                 static_cast<size_t>(length)));
  }
}

TEST(Deltas, MergeToTheExpectedValues) {
  for (const char* name : {"deltas.mosh", "adapter.mosh"}) {
    const Json answer = Answer(name);
    size_t found = 0;
    for (const ArrayInfo& array : ArraysOf(*Open(name))) {
      if (!array.name.starts_with("merged/")) continue;
      const std::string tensor = array.name.substr(7);
      SCOPED_TRACE(tensor);
      BlockCache cache(limits::kMiB);
      const Result<Content> content = array.open(cache);
      const Result<std::string> bytes = Read(content, cache);
      if (!answer["merged"].contains(tensor)) {
        EXPECT_FALSE(bytes);
        continue;
      }
      ++found;
      ASSERT_TRUE(bytes) << bytes.error().Text();
      EXPECT_EQ(array.dtype, DType::kF32);
      const Json& expected = answer["merged"][tensor];
      EXPECT_EQ(Json(array.shape), expected["shape"]);
      ASSERT_EQ(bytes->size(), expected["values"].size() * sizeof(float));
      for (size_t i = 0; i < expected["values"].size(); ++i) {
        float value = 0;
        std::memcpy(&value, bytes->data() + i * sizeof(float), sizeof(float));
        const double wanted = expected["values"][i];
        EXPECT_NEAR(value, wanted, 1e-5 * (1 + std::abs(wanted)));
      }
      CheckWindows(*content, *bytes);
    }
    EXPECT_EQ(found, answer["merged"].size());
  }
}

TEST(Tiles, MakeTheExpectedMatrices) {
  const Json answer = Answer("tiles.gemm");
  size_t found = 0;
  for (const ArrayInfo& array : ArraysOf(*Open("tiles.gemm"))) {
    EXPECT_EQ(std::count(answer["missing"].begin(), answer["missing"].end(),
                         array.name),
              0);
    if (!answer["matrices"].contains(array.name)) continue;
    ++found;
    const Json& expected = answer["matrices"][array.name];
    BlockCache cache(limits::kMiB);
    const Result<Content> content = array.open(cache);
    const Result<std::string> bytes = Read(content, cache);
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(DTypeName(array.dtype), expected["dtype"].get<std::string>());
    EXPECT_EQ(Json(array.shape), expected["shape"]);
    EXPECT_EQ(golden::Sha256(*bytes), expected["sha256"]);
    CheckWindows(*content, *bytes);
  }
  EXPECT_EQ(found, answer["matrices"].size());
}

}  // namespace
}  // namespace ctxfs
