// SPDX-License-Identifier: Apache-2.0
//
// Every container of golden/shard against its JSON, by the library alone; the
// same through a real mount is tests/mount/test_golden_shard.py.
#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

class ShardGolden : public testing::TestWithParam<std::string> {
 protected:
  Result<std::shared_ptr<const Container>> Open(bool salvage) {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(golden::PathOf(GetParam()));
    EXPECT_TRUE(source);
    OpenOptions options;
    options.salvage = salvage;
    return OpenContainer(*source, options);
  }

  /// The code a refusal must have, from the file's own header.
  Code ExpectedRefusal() const {
    const std::string bytes = golden::ReadFile(golden::PathOf(GetParam()));
    if (bytes.substr(0, 4) != "SHRD") return Code::kNotContainer;
    if (answer_.contains("header")) {
      const Json& header = answer_["header"];
      if (header["version"] != 2) return Code::kVersion;
      if (header["entry_count"] > limits::kEntries) return Code::kLimit;
    }
    return Code::kCorrupt;
  }

  const Json answer_ = golden::AnswerOf(GetParam());
};

/// `ieee`: a CRC-32 (IEEE) may stand in the place of the CRC-32C (role 2).
void CheckEntry(const Container& container, uint32_t i, const Json& answer,
                bool ieee) {
  SCOPED_TRACE("entry " + std::to_string(i));
  const EntryInfo info = DescribeEntry(container, i);
  EXPECT_EQ(info.stored_size, answer["stored_size"]);
  EXPECT_EQ(info.offset, answer["data_offset"]);
  EXPECT_EQ(info.extra["flags"], answer["flags"]);
  EXPECT_EQ(info.content_type,
            std::to_string(answer["content_type"].get<int>()) + " " +
                answer["content_type_name"].get<std::string>());
  if (answer.contains("tag_bits")) {
    EXPECT_EQ(info.extra["tag_bits"], answer["tag_bits"]);
  }
  if (!info.checksum.empty()) {
    EXPECT_EQ(info.checksum, "crc32c:" + answer["crc32c"].get<std::string>());
  } else {
    EXPECT_EQ(answer["crc32c"], "00000000");
  }
  // A name outside the table is answered as the empty one that readers make
  // of it.
  EXPECT_EQ(info.name.value_or(""), golden::StoredName(answer));

  BlockCache cache(limits::kGiB);
  const Result<Content> content = OpenEntry(container, i);
  const Result<std::string> bytes =
      content ? ReadAll(*content, cache) : Result<std::string>(content.error());
  if (answer["decoded_sha256"].is_null() && ieee) {
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(DescribeEntry(container, i).checksum,
              "crc32:" + answer["crc32c"].get<std::string>());
    return;
  }
  if (answer["decoded_sha256"].is_null()) {
    EXPECT_FALSE(bytes) << "must not be readable: " << answer["recommended"];
    return;
  }
  ASSERT_TRUE(bytes) << bytes.error().Text();
  EXPECT_EQ(bytes->size(), answer["decoded_size"]);
  EXPECT_EQ(EntrySize(container, i), answer["decoded_size"]);
  EXPECT_EQ(golden::Sha256(*bytes), answer["decoded_sha256"]);
}

TEST_P(ShardGolden, BehavesAsItsJsonSays) {
  const std::string recommended = answer_["recommended"];
  const Result<std::shared_ptr<const Container>> container = Open(false);
  if (recommended.starts_with("refuse")) {
    ASSERT_FALSE(container);
    EXPECT_EQ(container.error().code, ExpectedRefusal());
    EXPECT_NE(container.error().offset, kNoOffset);
    EXPECT_FALSE(container.error().what.empty());
    return;
  }
  if (!container && recommended.starts_with("open: ok or refuse")) return;
  ASSERT_TRUE(container) << container.error().Text();
  const Json& entries = answer_["entries"];
  ASSERT_EQ(EntryCount(**container), entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    CheckEntry(**container, i, entries[i],
               recommended.find("accept IEEE") != std::string::npos);
  }
}

// A damaged file mounted as far as it can be read: nothing may crash, and what
// no fault touches is what a sound file would have shown.
TEST_P(ShardGolden, SalvagesWithoutInventing) {
  const Result<std::shared_ptr<const Container>> container = Open(true);
  if (!container) {
    EXPECT_TRUE(answer_["recommended"].get<std::string>().starts_with("refuse"))
        << container.error().Text();
    return;
  }
  const ContainerTree branch(*container);
  BlockCache cache(limits::kGiB);
  for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
    if (branch.tree().IsDirectory(node)) continue;
    const Result<bool> exists = branch.Exists(node, Cost::kDecode, cache);
    ASSERT_TRUE(exists);
    if (!*exists) continue;
    const Result<uint64_t> size = branch.Size(node, cache);
    ASSERT_TRUE(size);
    const Result<Content> content = branch.Open(node, cache);
    if (!content) continue;
    EXPECT_EQ(content->size(), *size);
    if (const Result<std::string> bytes = ReadAll(*content, cache)) {
      EXPECT_EQ(bytes->size(), *size);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ShardGolden,
                         testing::ValuesIn(golden::Containers("shard")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
