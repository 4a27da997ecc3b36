// SPDX-License-Identifier: Apache-2.0
//
// Every tree of golden/megacontext against its JSON, by the library alone; the
// same through a real mount is tests/mount/test_golden_megacontext.py.
#include <set>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/directory.h"
#include "core/tree/container_tree.h"
#include "core/tree/numbered_directory.h"
#include "tests/golden/golden.h"

namespace ctxfs {
namespace {

using ContainerPtr = std::shared_ptr<const Container>;

Json LevelsOf(const Json& answer) {
  return answer.value("levels", Json::object());
}

class MegaContextGolden : public testing::TestWithParam<std::string> {
 protected:
  Result<std::string> Read(const ContainerTree& branch,
                           const std::string& path) {
    for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
      if (branch.tree().Path(node) != path) continue;
      const Result<Content> content = branch.Open(node, cache_);
      if (!content) return content.error();
      return ReadAll(*content, cache_);
    }
    return Error{Code::kNotFound, path};
  }
  Json ReadJson(const ContainerTree& branch, const std::string& path) {
    const Result<std::string> text = Read(branch, path);
    EXPECT_TRUE(text) << path;
    return text ? Json::parse(*text) : Json();
  }
  std::string ReadNumbered(const FileTree& directory, uint32_t number) {
    const NodeId file = directory.ChildAt(FileTree::kRoot, number).node;
    const Result<Content> content = directory.Open(file, cache_);
    EXPECT_TRUE(content);
    const Result<std::string> bytes = ReadAll(*content, cache_);
    EXPECT_TRUE(bytes);
    EXPECT_EQ(*directory.Size(file, cache_), bytes->size());
    return *bytes;
  }
  const FileTree* FindNumbered(const ContainerTree& branch,
                               const std::string& path) {
    for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
      if (branch.tree().Path(node) == path) return branch.Numbered(node);
    }
    return nullptr;
  }

  void CheckLevel(const ContainerTree& branch, const std::string& file,
                  const Json& level);
  void CheckParts(const ContainerTree& branch, const std::string& directory,
                  const std::string& payload, const Json& level);
  void CheckLevels(const ContainerTree& branch, const Json& answer);
  void CheckFiles(const ContainerTree& branch);
  void CheckSnapshots(const ContainerTree& branch);

  const Json answer_ = golden::AnswerOf(GetParam());
  BlockCache cache_{limits::kMiB};
};

void MegaContextGolden::CheckParts(const ContainerTree& branch,
                                   const std::string& directory,
                                   const std::string& payload,
                                   const Json& level) {
  const bool vectors = level["shape"].size() == 2;
  const FileTree* parts = FindNumbered(
      branch, vectors ? "views/gists/" + directory : "views/blocks");
  ASSERT_EQ(parts != nullptr, vectors || level.contains("blocks"));
  if (parts == nullptr) return;
  const uint32_t count = parts->ChildCount(FileTree::kRoot);
  EXPECT_EQ(count, vectors ? level["entries"] : level["blocks"]);
  std::string joined;
  for (uint32_t i = 0; i < count; ++i) {
    const FileTree::Child part = parts->ChildAt(FileTree::kRoot, i);
    EXPECT_EQ(parts->Lookup(FileTree::kRoot, part.name), part.node);
    joined += ReadNumbered(*parts, i);
  }
  EXPECT_TRUE(joined == payload);
  if (!level.contains("block_sha256")) return;
  for (const auto& [number, sha256] : level["block_sha256"].items()) {
    const auto block = static_cast<uint32_t>(std::stoul(number));
    EXPECT_EQ(golden::Sha256(ReadNumbered(*parts, block)), sha256);
  }
}

void MegaContextGolden::CheckLevel(const ContainerTree& branch,
                                   const std::string& file, const Json& level) {
  SCOPED_TRACE(file);
  const Json tree = ReadJson(branch, "tree.json");
  const Json& shown = tree["levels"][file];
  for (const char* key :
       {"status", "error", "header", "shape", "dtype", "entries",
        "payload_bytes", "tail_bytes", "blocks", "last_block_tokens"}) {
    if (level.contains(key)) {
      EXPECT_EQ(shown[key], level[key]) << key;
    } else {
      EXPECT_FALSE(shown.contains(key)) << key;
    }
  }
  const size_t digit = file.find_first_of("0123456789");
  const std::string number = file.substr(digit, file.find('.') - digit);
  const std::string directory = "LOD" + number;
  const Result<std::string> payload =
      Read(branch, directory + (number == "0" ? "/tokens" : "/gists"));
  const Json header =
      ReadJson(branch, ".ctxfs/raw/" + directory + "/header.json");
  if (level["status"] == "error") {
    EXPECT_FALSE(payload);
    EXPECT_EQ(header["error"], level["error"]);
    return;
  }
  EXPECT_EQ(header, level["header"]);
  ASSERT_TRUE(payload);
  EXPECT_EQ(payload->size(), level["payload_bytes"]);
  EXPECT_EQ(golden::Sha256(*payload), level["payload_sha256"]);
  CheckParts(branch, directory, *payload, level);
}

void MegaContextGolden::CheckLevels(const ContainerTree& branch,
                                    const Json& answer) {
  const Json tree = ReadJson(branch, "tree.json");
  EXPECT_EQ(tree["open"], answer["open"]);
  EXPECT_EQ(tree["levels"].size(), answer["levels"].size());
  for (const auto& [file, level] : answer["levels"].items()) {
    CheckLevel(branch, file, level);
  }
}

/// The raw files, and the metadata as it is.
void MegaContextGolden::CheckFiles(const ContainerTree& branch) {
  for (const auto& [file, about] : answer_["files"].items()) {
    if (file.find('/') != std::string::npos) continue;
    const std::string path =
        file == "metadata.json" ? file : ".ctxfs/files/" + file;
    const Result<std::string> bytes = Read(branch, path);
    ASSERT_TRUE(bytes) << path;
    EXPECT_EQ(golden::Sha256(*bytes), about["sha256"]) << path;
  }
}

void MegaContextGolden::CheckSnapshots(const ContainerTree& branch) {
  std::set<std::string> paths;
  for (const ChildContainer& sub : branch.sub_containers()) {
    paths.insert(sub.path);
    const auto source = sub.open_source(LoneContext());
    ASSERT_TRUE(source);
    const Result<ContainerPtr> snapshot = OpenContainer(*source, {});
    ASSERT_TRUE(snapshot) << snapshot.error().Text();
    const std::string name = sub.path.substr(sub.path.find('/') + 1);
    SCOPED_TRACE(name);
    CheckLevels(ContainerTree(*snapshot), answer_["snapshots"][name]);
    EXPECT_TRUE((*snapshot)->Children().empty());
  }
  std::set<std::string> expected;
  const Json snapshots = answer_.value("snapshots", Json::object());
  for (const auto& [name, levels] : snapshots.items()) {
    expected.insert("checkpoints/" + name);
  }
  EXPECT_EQ(paths, expected);
}

TEST_P(MegaContextGolden, BehavesAsItsJsonSays) {
  const auto source = OpenSource(golden::PathOf(GetParam()));
  ASSERT_TRUE(source);
  const Result<ContainerPtr> container = OpenContainer(*source, {});
  EXPECT_EQ(IsContainerDirectory(**source), answer_["open"] != "error");
  if (answer_["open"] == "error") {
    ASSERT_FALSE(container);
    const bool levels = !LevelsOf(answer_).empty();
    EXPECT_NE(container.error().code == Code::kNotContainer, levels);
    const std::string why =
        levels ? LevelsOf(answer_).begin().value()["error"] : answer_["error"];
    EXPECT_NE(container.error().what.find(why), std::string::npos)
        << container.error().what;
    return;
  }
  ASSERT_TRUE(container) << container.error().Text();
  const ContainerTree branch(*container);
  CheckLevels(branch, answer_);
  std::set<std::string> warnings;
  const Json tree = ReadJson(branch, "tree.json");
  for (const Json& text : tree["warnings"]) warnings.insert(text);
  for (const auto& [file, level] : answer_["levels"].items()) {
    // What is wrong with a level is told as well; the answer has it elsewhere.
    if (level["status"] != "error") continue;
    EXPECT_EQ(std::erase_if(warnings,
                            [&, name = file](const std::string& text) {
                              return text.starts_with(name + ": ");
                            }),
              1U);
  }
  std::set<std::string> expected;
  for (const Json& text : answer_["warnings"]) expected.insert(text);
  EXPECT_EQ(warnings, expected);
  CheckFiles(branch);
  CheckSnapshots(branch);
}

// Any level file is a container of its own.
TEST_P(MegaContextGolden, LevelsOpenAlone) {
  const Json levels = LevelsOf(answer_);
  for (const auto& [file, level] : levels.items()) {
    SCOPED_TRACE(file);
    const auto source = FileSource::Open(golden::PathOf(GetParam()) / file);
    ASSERT_TRUE(source);
    const Result<ContainerPtr> container = OpenContainer(*source, {});
    ASSERT_EQ(container.has_value(), level["status"] != "error");
    if (!container) continue;
    const ContainerTree branch(*container);
    const std::string number =
        std::to_string(level["header"]["level"].get<int>());
    const Result<std::string> payload =
        Read(branch, "LOD" + number + (number == "0" ? "/tokens" : "/gists"));
    ASSERT_TRUE(payload);
    EXPECT_EQ(golden::Sha256(*payload), level["payload_sha256"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, MegaContextGolden,
                         testing::ValuesIn(golden::Containers("megacontext")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
