// SPDX-License-Identifier: Apache-2.0
//
// Every container of golden/gguf against its JSON, by the library alone; the
// same through a real mount is tests/mount/test_golden_gguf.py.
#include "tests/golden/tensor_golden.h"

namespace ctxfs {
namespace {

const std::map<std::string, std::string> kGgufPhrases = {
    {"alignment", "general.alignment is not"},
    {"big-endian-quant", "in a big-endian file is undefined"},
    {"dims", "dimension"},
    {"key-duplicate", "occurred before"},
    {"key-empty", "has an empty key"},
    {"misaligned", "is misaligned"},
    {"name-duplicate", "has the name of"},
    {"not-packed", "not packed"},
    {"overflow", "an overflow"},
    {"overlap", "overlap other tensors"},
    {"row", "not a multiple of the block"},
    {"split-bad", "cannot be read"},
    {"split-mismatch", "does not match"},
    {"split-missing", "is missing"},
    {"split-tensors-count", "split.tensors.count is"},
    {"trailing-bytes", "trailing bytes"},
    {"truncated", "runs past the end"},
    {"unknown-type", "of an unknown type"},
};

/// The answers; not grids.json, the code books.
std::vector<std::string> Answers() {
  std::vector<std::string> names = golden::Containers("gguf");
  std::erase(names, "gguf/grids");
  return names;
}

class GgufGolden : public golden::TensorGolden {
 protected:
  void Check(std::shared_ptr<const Container> container, const Json& answer);
  void CheckMetadata(const ContainerTree& tree, const Json& answer);
  void CheckDequantized(const ContainerTree& tree, const Json& answer);
};

/// The text of an answer's array, in the form that its digest was made of.
std::string CompactText(const Json& array) {
  return array.dump(-1, ' ', /*ensure_ascii=*/true);
}

/// Numbers as numbers: 1.0 equals 1, and float32 values are shortest decimals.
void ExpectSameValue(const Json& shown, const Json& expected) {
  if (expected.is_array()) {
    ASSERT_TRUE(shown.is_array());
    ASSERT_EQ(shown.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ExpectSameValue(shown[i], expected[i]);
    }
    return;
  }
  EXPECT_EQ(shown, expected);
  EXPECT_EQ(shown.is_number_float(), expected.is_number_float());
}

void GgufGolden::CheckMetadata(const ContainerTree& tree, const Json& answer) {
  const std::optional<NodeId> node = Find(tree, "metadata.json");
  ASSERT_TRUE(node);
  const Result<Content> content = tree.Open(*node, cache_);
  ASSERT_TRUE(content) << content.error().Text();
  const std::string text = Read(*content);
  CheckWindows(*content, text);
  using Ordered = nlohmann::ordered_json;
  const Ordered shown = Ordered::parse(text);
  const Json& expected = answer["metadata"];
  ASSERT_EQ(shown.size(), expected.size());
  for (const auto& [key, pair] : shown.items()) {
    SCOPED_TRACE(key);
    ASSERT_TRUE(expected.contains(key));
    const Json& wanted = expected[key];
    for (const char* field : {"type", "items", "key_hex"}) {
      EXPECT_EQ(Json(pair.value(field, "")), wanted.value(field, Json("")));
    }
    const Json value = Json::parse(pair["value"].dump());
    if (wanted.contains("value")) {
      ExpectSameValue(value, wanted["value"]);
      continue;
    }
    EXPECT_EQ(value.size(), wanted["count"]);
    EXPECT_EQ(Json(value.begin(), value.begin() + 3), wanted["first"]);
    EXPECT_EQ(Json(value.end() - 3, value.end()), wanted["last"]);
    if (wanted["items"] != "float32") {
      EXPECT_EQ(golden::Sha256(CompactText(value)), wanted["value_sha256"]);
    }
  }
}

void GgufGolden::CheckDequantized(const ContainerTree& tree,
                                  const Json& answer) {
  size_t values = 0;
  for (const auto& [key, array] : answer["arrays"].items()) {
    SCOPED_TRACE(key);
    const std::string dtype = array.value("dtype", "");
    const bool plain = DTypeOf(dtype).has_value();
    if (array.contains("path_hex")) continue;
    const std::string path =
        "views/dequantized/" + array["path"].get<std::string>();
    const std::optional<NodeId> node = Find(tree, path);
    ASSERT_EQ(node.has_value(), array.contains("f32_sha256") && !plain);
    if (!node) continue;
    ++values;
    const Result<Content> content = tree.Open(*node, cache_);
    ASSERT_TRUE(content);
    EXPECT_EQ(*tree.Size(*node, cache_), content->size());
    EXPECT_EQ(golden::Sha256(Read(*content)), array["f32_sha256"]);
    const EntryInfo info = *tree.Describe(*node, cache_);
    EXPECT_EQ(info.dtype, "f32");
    EXPECT_EQ(info.codec, dtype);
  }
}

void GgufGolden::Check(std::shared_ptr<const Container> container,
                       const Json& answer) {
  const Json info = container->Info(LoneContext());
  EXPECT_EQ(info["format"], "gguf");
  for (const char* key : {"version", "endian", "alignment", "data_offset"}) {
    if (answer.contains(key)) {
      EXPECT_EQ(info[key], answer[key]) << key;
    }
  }
  const ContainerTree tree(container);
  CheckTensors(tree, answer);
  CheckWarnings(*container, answer, kGgufPhrases);
  CheckMetadata(tree, answer);
  CheckDequantized(tree, answer);
  EXPECT_EQ(info["entries_unreadable"],
            answer.value("eio", Json::array()).size());
}

TEST_P(GgufGolden, BehavesAsItsJsonSays) {
  const auto container = Open(".gguf", /*salvage=*/false);
  if (ExpectRefusal(answer_["open"], container)) return;
  ASSERT_TRUE(container) << container.error().Text();
  Check(*container, answer_);
}

TEST_P(GgufGolden, SalvagesAsItsJsonSays) {
  const auto container = Open(".gguf", /*salvage=*/true);
  if (!answer_.contains("salvage")) {
    ASSERT_TRUE(container) << container.error().Text();
    if (!answer_.contains("source")) Check(*container, answer_);
    return;
  }
  if (ExpectRefusal(answer_["salvage"], container)) return;
  ASSERT_TRUE(container) << container.error().Text();
  Check(*container, answer_["salvage"]);
}

INSTANTIATE_TEST_SUITE_P(Golden, GgufGolden, testing::ValuesIn(Answers()),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
