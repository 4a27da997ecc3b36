// SPDX-License-Identifier: Apache-2.0
//
// Every container of golden/zip, golden/npz and golden/torch against its JSON,
// by the library alone; the same through a real mount is
// tests/mount/test_golden_archives.py.
#include <map>
#include <random>
#include <set>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"

namespace ctxfs {
namespace {

using ContainerPtr = std::shared_ptr<const Container>;

/// The answers' paths are those of tree contract 1.
std::string Shown(const std::string& format, const std::string& path) {
  if (format == "torch" && path.starts_with("members/")) {
    return ".ctxfs/raw/" + path.substr(8);
  }
  if (format != "torch" && path.starts_with("arrays/")) return "views/" + path;
  return path;
}

std::string ArrayDirectory(const std::string& format) {
  return format == "torch" ? "tensors/" : "views/arrays/";
}

std::string Bytes8(const std::string& path) {
  if (!path.starts_with("hex:")) return path;
  std::string bytes;
  for (size_t i = 4; i + 1 < path.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(path.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

/// Objects whose only key is "$set" get their elements sorted.
void SortSets(Json& value) {
  for (Json& child : value) {
    if (child.is_structured()) SortSets(child);
  }
  if (value.is_object() && value.size() == 1 && value.contains("$set")) {
    std::sort(value["$set"].begin(), value["$set"].end(),
              [](const Json& a, const Json& b) { return a.dump() < b.dump(); });
  }
}

/// A part of an answer; an empty one if there is none.
const Json& Part(const Json& answer, const char* key) {
  static const Json kNone = Json::object();
  const auto found = answer.find(key);
  return found == answer.end() ? kNone : *found;
}

class ArchiveGolden : public testing::TestWithParam<std::string> {
 protected:
  Result<ContainerPtr> Open(bool salvage = false) {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(golden::PathOf(GetParam()));
    EXPECT_TRUE(source);
    OpenOptions options;
    options.salvage = salvage;
    return OpenContainer(*source, options);
  }

  /// The files of a container by path, those that do not exist left out.
  void List(const ContainerPtr& container) {
    tree_ = std::make_shared<const ContainerTree>(container);
    ASSERT_TRUE(tree_->status());
    const NameTree& names = tree_->tree();
    for (NodeId node = 1; node < names.node_count(); ++node) {
      const Result<bool> exists =
          tree_->Exists(node, Cost::kSmallRead, context_);
      ASSERT_TRUE(exists);
      if (!*exists) continue;
      if (names.IsDirectory(node)) {
        directories_.insert(names.Path(node));
      } else {
        files_[names.Path(node)] = node;
      }
    }
  }

  Result<std::string> ReadNode(NodeId node) {
    const Result<Content> content = tree_->Open(node, context_);
    if (!content) return content.error();
    Result<std::string> bytes = ReadAll(*content, context_);
    const Result<uint64_t> size = tree_->Size(node, context_);
    if (bytes) {
      EXPECT_TRUE(size && *size == bytes->size());
      CheckWindows(*content, *bytes);
    }
    return bytes;
  }

  void CheckWindows(const Content& content, const std::string& whole) {
    std::mt19937 random(1);
    for (int i = 0; i < 20 && !whole.empty(); ++i) {
      const size_t at = random() % whole.size();
      const size_t size = random() % (whole.size() - at) + 1;
      std::string part(size, '\0');
      ASSERT_TRUE(ReadInto(
          content, at, {reinterpret_cast<std::byte*>(part.data()), part.size()},
          context_));
      ASSERT_TRUE(part == whole.substr(at, size)) << at << "+" << size;
    }
  }

  void CheckFile(const std::string& path, const Json& answer) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(files_.contains(path));
    const NodeId node = files_.at(path);
    const Result<std::string> bytes = ReadNode(node);
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(bytes->size(), answer["size"]);
    EXPECT_EQ(golden::Sha256(*bytes), answer["sha256"]);
    expected_.insert(path);
    if (!answer.contains("dtype")) return;
    const EntryInfo info =
        tree_->Describe(node, context_).value_or(EntryInfo{});
    EXPECT_EQ(info.dtype, answer["dtype"]);
    ASSERT_TRUE(info.shape);
    EXPECT_EQ(Json(*info.shape), answer["shape"]);
  }

  void CheckFailure(const std::string& path, bool locked) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(files_.contains(path));
    const Result<std::string> bytes = ReadNode(files_.at(path));
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code == Code::kLocked, locked);
    EXPECT_TRUE(bytes.error().Permanent());
    EXPECT_EQ(tree_->IsLocked(files_.at(path)), locked);
    expected_.insert(path);
  }

  void CheckDocument(const std::string& path, const Json& answer) {
    SCOPED_TRACE(path);
    ASSERT_TRUE(files_.contains(path));
    const Result<std::string> bytes = ReadNode(files_.at(path));
    ASSERT_TRUE(bytes) << bytes.error().Text();
    Json shown = Json::parse(*bytes, nullptr, false);
    Json wanted = answer;
    SortSets(shown);
    SortSets(wanted);
    EXPECT_EQ(shown, wanted) << shown.dump(1).substr(0, 4000) << "\n"
                             << wanted.dump(1).substr(0, 4000);
    expected_.insert(path);
  }

  void CheckWarnings(const Container& container, const Json& answer) {
    std::string all;
    const Json info = container.Info(context_);
    for (const Json& warning : info["warnings"]) {
      all += warning.get<std::string>() + "\n";
    }
    for (const Json& warning : Part(answer, "warnings")) {
      EXPECT_NE(all.find(warning.get<std::string>()), std::string::npos)
          << warning << " is not in\n"
          << all;
    }
  }

  void Check(const ContainerPtr& container, const std::string& format,
             const Json& answer) {
    List(container);
    for (const auto& [path, file] : Part(answer, "files").items()) {
      CheckFile(Shown(format, Bytes8(path)), file);
    }
    for (const auto& [name, array] : Part(answer, "arrays").items()) {
      CheckFile(ArrayDirectory(format) + name, array);
    }
    for (const Json& path : Part(answer, "eio")) {
      CheckFailure(Shown(format, path), /*locked=*/false);
    }
    for (const Json& path : Part(answer, "eacces")) {
      CheckFailure(Shown(format, path), /*locked=*/true);
    }
    for (const auto& [path, document] : Part(answer, "documents").items()) {
      CheckDocument(path, document);
    }
    for (const Json& path : Part(answer, "dirs")) {
      EXPECT_TRUE(directories_.contains(path)) << path;
    }
    for (const Json& path : Part(answer, "absent")) {
      EXPECT_FALSE(files_.contains(path) || directories_.contains(path))
          << path;
    }
    for (const auto& [name, reason] : Part(answer, "no_array").items()) {
      EXPECT_FALSE(files_.contains("views/arrays/" + name)) << reason;
    }
    for (const auto& [path, node] : files_) {
      const bool ours =
          path.starts_with(".ctxfs/") && !path.starts_with(".ctxfs/raw/");
      EXPECT_TRUE(ours || expected_.contains(path)) << path << " is extra";
    }
    CheckWarnings(*container, answer);
  }

  BlockCache cache_{64 * limits::kMiB};
  const ReadContext context_{cache_};
  std::shared_ptr<const ContainerTree> tree_;
  std::map<std::string, NodeId> files_;
  std::set<std::string> directories_;
  std::set<std::string> expected_;
};

Code CodeOfExit(int exit) {
  const std::map<int, Code> codes = {{3, Code::kNotContainer},
                                     {4, Code::kCorrupt},
                                     {5, Code::kVersion},
                                     {8, Code::kLimit}};
  return codes.at(exit);
}

TEST_P(ArchiveGolden, IsAsItsAnswerSays) {
  const Json answer = golden::AnswerOf(GetParam());
  const Result<ContainerPtr> opened = Open();
  if (answer.contains("refuse")) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, CodeOfExit(answer["refuse"]["exit"]));
    const std::string why = answer["refuse"]["why"];
    if (why != "no_magic") {
      EXPECT_NE(opened.error().what.find(why), std::string::npos)
          << opened.error().Text();
    }
    return;
  }
  ASSERT_TRUE(opened) << opened.error().Text();
  EXPECT_EQ((*opened)->Info(context_)["format"], answer["format"]);
  Check(*opened, answer["format"], answer);
}

TEST_P(ArchiveGolden, IsSalvagedAsItsAnswerSays) {
  const Json answer = golden::AnswerOf(GetParam());
  if (!answer.contains("salvage")) return;
  const Result<ContainerPtr> opened = Open(/*salvage=*/true);
  ASSERT_TRUE(opened) << opened.error().Text();
  Check(*opened, answer["format"], answer["salvage"]);
}

INSTANTIATE_TEST_SUITE_P(Zip, ArchiveGolden,
                         testing::ValuesIn(golden::Containers("zip")),
                         golden::TestName);
INSTANTIATE_TEST_SUITE_P(Npz, ArchiveGolden,
                         testing::ValuesIn(golden::Containers("npz")),
                         golden::TestName);
INSTANTIATE_TEST_SUITE_P(Torch, ArchiveGolden,
                         testing::ValuesIn(golden::Containers("torch")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
