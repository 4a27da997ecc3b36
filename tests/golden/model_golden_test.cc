// SPDX-License-Identifier: Apache-2.0
//
// The containers of golden/shard-profiles that hold tensors, graphs or traces
// against their JSON, by the library alone; the same through a real mount is
// tests/mount/test_golden_model.py.
#include <map>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

/// Those of the folder with a role of ours: the others have runners of their
/// own.
std::vector<std::string> TensorContainers() {
  std::vector<std::string> all = golden::Containers("shard-profiles");
  for (const std::string& name :
       golden::Containers("shard-profiles/synthetic")) {
    all.push_back(name);
  }
  std::erase_if(all, [](const std::string& name) {
    const Json answer = golden::AnswerOf(name);
    if (!answer.contains("header")) return true;
    const int role = answer["header"]["role"];
    return role != 0 && role != 1 && role != 3 && role != 6 && role != 7;
  });
  return all;
}

/// Every file of a container, by path, as far as it is there and readable.
std::map<std::string, std::string> Files(const ContainerTree& branch) {
  BlockCache cache(limits::kGiB);
  std::map<std::string, std::string> files;
  for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
    if (branch.tree().IsDirectory(node)) continue;
    const Result<bool> exists = branch.Exists(node, Cost::kDecode, cache);
    EXPECT_TRUE(exists);
    if (!*exists) continue;
    const Result<uint64_t> size = branch.Size(node, cache);
    const Result<Content> content = branch.Open(node, cache);
    EXPECT_TRUE(size);
    if (!content) continue;
    EXPECT_EQ(content->size(), *size) << branch.tree().Path(node);
    const Result<std::string> bytes = ReadAll(*content, cache);
    if (bytes) files[branch.tree().Path(node)] = *bytes;
  }
  return files;
}

const std::map<std::string, std::string> kTypeNames = {
    {"float32", "f32"}, {"float16", "f16"}, {"bfloat16", "bf16"},
    {"int8", "i8"},     {"int16", "i16"},   {"int32", "i32"},
    {"int64", "i64"},   {"uint8", "u8"},    {"uint16", "u16"},
    {"uint32", "u32"},  {"uint64", "u64"},  {"float64", "f64"}};

class ModelGolden : public testing::TestWithParam<std::string> {
 protected:
  const Json answer_ = golden::AnswerOf(GetParam());
};

TEST_P(ModelGolden, TensorsAreWhatTheJsonSays) {
  const std::shared_ptr<const Container> container = golden::Open(GetParam());
  const ContainerTree branch(container);
  const std::map<std::string, std::string> files = Files(branch);
  const std::vector<ArrayInfo> arrays = ArraysOf(*container);
  const auto array_of = [&](const std::string& name) -> const ArrayInfo* {
    for (const ArrayInfo& array : arrays) {
      if (array.name == name) return &array;
    }
    return nullptr;
  };
  BlockCache cache(limits::kGiB);
  for (uint32_t i = 0; i < answer_["entries"].size(); ++i) {
    const Json& entry = answer_["entries"][i];
    const std::string name = entry["name"];
    SCOPED_TRACE(name);
    const Result<Content> raw = OpenEntry(*container, i);
    ASSERT_TRUE(raw);
    const Result<std::string> payload = ReadAll(*raw, cache);
    ASSERT_TRUE(payload);
    EXPECT_EQ(golden::Sha256(*payload), entry["payload_sha256"]);

    const auto file = files.find("views/tensors/" + name);
    if (!entry.contains("tensor")) {
      EXPECT_EQ(file, files.end());
      EXPECT_EQ(array_of(name), nullptr);
      continue;
    }
    const Json& tensor = entry["tensor"];
    ASSERT_NE(file, files.end());
    const EntryInfo info = DescribeEntry(*container, i);
    EXPECT_EQ(info.kind, "tensor");
    EXPECT_EQ(Json(*info.shape), tensor["dims"]);
    const ArrayInfo* array = array_of(name);
    ASSERT_NE(array, nullptr);
    EXPECT_EQ(Json(array->shape), tensor["dims"]);
    const Result<Content> elements = array->open(cache);
    ASSERT_TRUE(elements);
    EXPECT_EQ(*ReadAll(*elements, cache), file->second);
    if (name == "f64_as_03") {  // by the old table, as `expected` has it
      EXPECT_EQ(info.dtype, "f64");
      EXPECT_EQ(file->second, payload->substr(12));
      continue;
    }
    EXPECT_EQ(file->second.size(), tensor["data_bytes"]);
    EXPECT_EQ(golden::Sha256(file->second), tensor["data_sha256"]);
    if (!entry.contains("expected")) continue;
    const std::string dtype = entry["expected"]["dtype"];
    if (kTypeNames.contains(dtype)) {
      EXPECT_EQ(info.dtype, kTypeNames.at(dtype));
    }
  }
}

TEST_P(ModelGolden, DequantisedTensorsAreWhatTheJsonSays) {
  const ContainerTree branch(golden::Open(GetParam()));
  const std::map<std::string, std::string> files = Files(branch);
  const Json expected = answer_.value("dequantized", Json::object());
  for (const auto& [name, answer] : expected.items()) {
    ASSERT_TRUE(files.contains("views/dequantized/" + name)) << name;
    EXPECT_EQ(golden::Sha256(files.at("views/dequantized/" + name)),
              answer["f32_le_sha256"]);
  }
  if (!answer_["entries"].empty() && expected.empty() &&
      GetParam().find("role6") == std::string::npos) {
    for (const auto& [path, bytes] : files) {
      EXPECT_FALSE(path.starts_with("views/dequantized/")) << path;
    }
  }
}

// A damaged entry's tensor is EIO, whatever its header says.
TEST(ModelShard, ATensorIsBehindItsEntrysChecksum) {
  std::string bytes =
      golden::ReadFile(golden::PathOf("shard-profiles/role6.umsh"));
  bytes[344] ^= 1;  // within layer.0.weight's elements
  auto container =
      OpenContainer(std::make_shared<const MemorySource>(bytes), {});
  ASSERT_TRUE(container);
  const std::map<std::string, std::string> files =
      Files(ContainerTree(*container));
  EXPECT_FALSE(files.contains("views/tensors/layer.0.weight"));
  EXPECT_TRUE(files.contains("views/tensors/layer.1.weight"));
}

// Every window of a computed file is what the whole has there.
TEST_P(ModelGolden, WindowsAreCutFromTheWhole) {
  const ContainerTree branch(golden::Open(GetParam()));
  BlockCache cache(limits::kGiB);
  uint64_t random = 1;
  for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
    if (branch.tree().IsDirectory(node)) continue;
    const Result<Content> content = branch.Open(node, cache);
    if (!content || content->size() == 0) continue;
    const Result<std::string> whole = ReadAll(*content, cache);
    if (!whole) continue;
    Window window;
    for (int i = 0; i < 50; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const uint64_t at = (random >> 33) % whole->size();
      const uint64_t length = 1 + (random >> 13) % (whole->size() - at);
      ASSERT_TRUE(
          content->Read(at, static_cast<size_t>(length), cache, window));
      std::string part;
      for (const Bytes slice : window.slices()) part += AsText(slice);
      ASSERT_EQ(part, whole->substr(static_cast<size_t>(at),
                                    static_cast<size_t>(length)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ModelGolden,
                         testing::ValuesIn(TensorContainers()),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
