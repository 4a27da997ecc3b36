// SPDX-License-Identifier: Apache-2.0
//
// Every container of golden/tar and golden/onnx against its JSON, by the
// library alone; golden/tar/README.md and golden/onnx/README.md say how it is
// read. The same through a real mount is tests/mount/test_golden_trees.py.
#include <map>
#include <set>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

/// A path as answers write it: "hex:" and its bytes where it is no UTF-8.
std::string PathOfAnswer(const std::string& path) {
  if (!path.starts_with("hex:")) return path;
  std::string bytes;
  for (size_t i = 4; i < path.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(path.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

int ExitCodeOf(Code code) {
  switch (code) {
    case Code::kNotContainer:
      return 3;
    case Code::kCorrupt:
      return 4;
    case Code::kVersion:
      return 5;
    case Code::kLimit:
      return 8;
    default:
      return 1;
  }
}

class TreeGolden : public testing::TestWithParam<std::string> {
 protected:
  Result<std::shared_ptr<const Container>> Open(bool salvage) {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(golden::PathOf(GetParam()));
    EXPECT_TRUE(source);
    OpenOptions options;
    options.salvage = salvage;
    return OpenContainer(*source, options);
  }

  void CheckAll(const std::shared_ptr<const Container>& container,
                const Json& answer);
  void CheckFile(const std::string& path, const Json& file);
  void CheckUnreadable(const std::string& path);
  void CheckArrays(const std::string& folder, const Json& arrays);
  void CheckSamples(const Json& samples);
  void CheckDocuments(const Json& documents);
  void CheckWarnings(const Json& warnings);
  std::optional<NodeId> Find(const std::string& path);
  std::string Read(const std::string& path);

  BlockCache cache_{limits::kGiB};
  std::unique_ptr<const ContainerTree> tree_;
  std::set<std::string> seen_;  // primary files that an answer names
};

std::optional<NodeId> TreeGolden::Find(const std::string& path) {
  NodeId node = ContainerTree::kRoot;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const auto child = tree_->Lookup(node, path.substr(at, end - at));
    if (!child) return std::nullopt;
    const auto exists = tree_->Exists(*child, Cost::kDecode, cache_);
    EXPECT_TRUE(exists);
    if (!exists || !*exists) return std::nullopt;
    node = *child;
    at = end + 1;
  }
  return node;
}

std::string TreeGolden::Read(const std::string& path) {
  const auto node = Find(path);
  if (!node || tree_->IsDirectory(*node)) {
    ADD_FAILURE() << path << " is not there";
    return "";
  }
  const Result<uint64_t> size = tree_->Size(*node, cache_);
  const Result<Content> content = tree_->Open(*node, cache_);
  if (!size || !content) {
    ADD_FAILURE() << path << ": "
                  << (size ? content.error().Text() : size.error().Text());
    return "";
  }
  EXPECT_EQ(content->size(), *size);
  const Result<std::string> bytes = ReadAll(*content, cache_);
  if (!bytes) ADD_FAILURE() << path << ": " << bytes.error().Text();
  return bytes ? *bytes : "";
}

void TreeGolden::CheckFile(const std::string& path, const Json& file) {
  SCOPED_TRACE(path);
  seen_.insert(path);
  const std::string bytes = Read(path);
  EXPECT_EQ(bytes.size(), file["size"]);
  EXPECT_EQ(golden::Sha256(bytes), file["sha256"]);
}

void TreeGolden::CheckUnreadable(const std::string& path) {
  SCOPED_TRACE(path);
  seen_.insert(path);
  const auto node = Find(path);
  ASSERT_TRUE(node);
  const Result<uint64_t> size = tree_->Size(*node, cache_);
  ASSERT_TRUE(size) << size.error().Text();
  Result<Content> content = tree_->Open(*node, cache_);
  if (content) {
    EXPECT_FALSE(ReadAll(*content, cache_));
  } else {
    EXPECT_EQ(*size, 0U);
    EXPECT_NE(tree_->Describe(*node, cache_)->note, "");
  }
}

void TreeGolden::CheckArrays(const std::string& folder, const Json& arrays) {
  for (const auto& [name, array] : arrays.items()) {
    const std::string path = folder + "/" + PathOfAnswer(name);
    CheckFile(path, array);
    const auto node = Find(path);
    if (!node) continue;
    const EntryInfo info = *tree_->Describe(*node, cache_);
    EXPECT_EQ(info.dtype, array["dtype"]) << path;
    EXPECT_EQ(Json(info.shape.value_or(std::vector<uint64_t>{77})),
              array["shape"])
        << path;
  }
}

void TreeGolden::CheckSamples(const Json& samples) {
  if (samples.is_null()) {
    EXPECT_FALSE(Find("views/samples.jsonl"));
    return;
  }
  std::istringstream lines(Read("views/samples.jsonl"));
  std::string line;
  size_t i = 0;
  for (; std::getline(lines, line); ++i) {
    ASSERT_LT(i, samples.size());
    Json sample = Json::parse(line);
    for (auto& [extension, member] : sample["members"].items()) {
      if (!member.contains("path_hex")) continue;
      member["path"] = "hex:" + member["path_hex"].get<std::string>();
      member.erase("path_hex");
    }
    EXPECT_EQ(sample, samples[i]);
  }
  EXPECT_EQ(i, samples.size());
}

void TreeGolden::CheckDocuments(const Json& documents) {
  for (const auto& [name, document] : documents.items()) {
    seen_.insert(name);
    EXPECT_EQ(Json::parse(Read(name)), document) << name;
  }
}

void TreeGolden::CheckWarnings(const Json& warnings) {
  const std::string said = tree_->container().Info(cache_)["warnings"].dump();
  for (const Json& key : warnings) {
    EXPECT_NE(said.find(key.get<std::string>() + ": "), std::string::npos)
        << key << " in " << said;
  }
}

void TreeGolden::CheckAll(const std::shared_ptr<const Container>& container,
                          const Json& answer) {
  tree_ = std::make_unique<const ContainerTree>(container);
  const Json files = answer.value("files", Json::object());
  for (const auto& [path, file] : files.items()) {
    CheckFile(PathOfAnswer(path), file);
  }
  for (const Json& path : answer.value("eio", Json::array())) {
    CheckUnreadable(PathOfAnswer(path));
  }
  for (const Json& path : answer.value("dirs", Json::array())) {
    const auto node = Find(PathOfAnswer(path));
    EXPECT_TRUE(node && tree_->IsDirectory(*node)) << path;
  }
  for (const Json& path : answer.value("absent", Json::array())) {
    EXPECT_FALSE(Find(PathOfAnswer(path))) << path;
  }
  CheckArrays("tensors", answer.value("arrays", Json::object()));
  CheckArrays("constants", answer.value("constants", Json::object()));
  CheckDocuments(answer.value("documents", Json::object()));
  CheckSamples(answer.value("samples", Json()));
  CheckWarnings(answer.value("warnings", Json::array()));
  std::set<std::string> shown;
  for (NodeId node = 0; node < tree_->tree().node_count(); ++node) {
    if (!tree_->IsDirectory(node) && tree_->IsData(node)) {
      shown.insert(tree_->Path(node));
    }
  }
  EXPECT_EQ(shown, seen_);
}

TEST_P(TreeGolden, IsAsItsAnswerSays) {
  const Json answer = golden::AnswerOf(GetParam());
  const auto container = Open(/*salvage=*/false);
  if (!answer.contains("refuse")) {
    ASSERT_TRUE(container) << container.error().Text();
    CheckAll(*container, answer);
    return;
  }
  ASSERT_FALSE(container);
  EXPECT_EQ(ExitCodeOf(container.error().code), answer["refuse"]["exit"])
      << container.error().Text();
  const std::string why = answer["refuse"]["why"];
  if (why != "no_magic") {
    EXPECT_TRUE(container.error().what.starts_with(why + ": "))
        << container.error().Text();
  }
  EXPECT_NE(container.error().offset, kNoOffset);
  if (!answer.contains("salvage")) return;
  const auto salvaged = Open(/*salvage=*/true);
  ASSERT_TRUE(salvaged) << salvaged.error().Text();
  CheckAll(*salvaged, answer["salvage"]);
}

INSTANTIATE_TEST_SUITE_P(Tar, TreeGolden,
                         testing::ValuesIn(golden::Containers("tar")),
                         golden::TestName);
INSTANTIATE_TEST_SUITE_P(Onnx, TreeGolden,
                         testing::ValuesIn(golden::Containers("onnx")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
