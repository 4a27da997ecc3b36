// SPDX-License-Identifier: Apache-2.0
//
// Every container of golden/safetensors against its JSON, by the library alone;
// the same through a real mount is tests/mount/test_golden_safetensors.py.
#include "tests/golden/tensor_golden.h"

namespace ctxfs {
namespace {

const std::map<std::string, std::string> kSafetensorsPhrases = {
    {"begin-end", "end before they begin"},
    {"bits", "are not whole bytes"},
    {"duplicate", "has the name of tensor"},
    {"entry", "the entry of "},
    {"hole", "leaves a hole"},
    {"index-bad-file", "cannot be read"},
    {"index-missing-file", "is missing"},
    {"index-missing-tensor", "has no tensor"},
    {"index-outside", "is outside the folder"},
    {"index-unlisted", "is not in the index"},
    {"metadata", "__metadata__"},
    {"overflow", "an overflow"},
    {"overlap", "overlaps the tensor before it"},
    {"size", "bytes that its type and shape need"},
    {"trailing", "trailing bytes"},
    {"truncated", "run past the end of the data"},
    {"unknown-dtype", "has the unknown dtype"},
};

class SafetensorsGolden : public golden::TensorGolden {
 protected:
  void Check(std::shared_ptr<const Container> container, const Json& answer) {
    const Json info = container->Info(LoneContext());
    EXPECT_EQ(info["format"], answer_["format"]);
    const ContainerTree tree(container);
    CheckTensors(tree, answer);
    CheckWarnings(*container, answer, kSafetensorsPhrases);
    const auto header = ReadFileAt(tree, ".ctxfs/raw/header.json");
    ASSERT_TRUE(header);
    if (answer.contains("header_sha256")) {
      EXPECT_EQ(header->size(), answer["header_bytes"]);
      EXPECT_EQ(golden::Sha256(*header), answer["header_sha256"]);
      EXPECT_EQ(info["data_offset"], answer["data_offset"]);
    }
    const auto metadata = ReadFileAt(tree, "metadata.json");
    ASSERT_EQ(metadata.has_value(), !answer["metadata"].is_null());
    if (metadata) {
      EXPECT_EQ(Json::parse(*metadata), answer["metadata"]);
      EXPECT_EQ(container->Metadata(), answer["metadata"]);
    }
    uint64_t eio = 0;
    for (uint32_t i = 0; i < tree.entries()->count(); ++i) {
      if (tree.entries()->Fault(i)) ++eio;
    }
    EXPECT_EQ(eio, answer.value("eio", Json::array()).size());
    EXPECT_EQ(info["entries_unreadable"], eio);
  }
};

TEST_P(SafetensorsGolden, BehavesAsItsJsonSays) {
  const auto container = Open(".safetensors", /*salvage=*/false);
  if (ExpectRefusal(answer_["open"], container)) return;
  ASSERT_TRUE(container) << container.error().Text();
  Check(*container, answer_);
}

TEST_P(SafetensorsGolden, SalvagesAsItsJsonSays) {
  const auto container = Open(".safetensors", /*salvage=*/true);
  if (!answer_.contains("salvage")) {
    ASSERT_TRUE(container) << container.error().Text();
    Check(*container, answer_);
    return;
  }
  if (ExpectRefusal(answer_["salvage"], container)) return;
  ASSERT_TRUE(container) << container.error().Text();
  Check(*container, answer_["salvage"]);
}

INSTANTIATE_TEST_SUITE_P(Golden, SafetensorsGolden,
                         testing::ValuesIn(golden::Containers("safetensors")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
