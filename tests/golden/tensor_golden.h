// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "core/views/arrays/elements.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

/// What the runners of golden/safetensors and golden/gguf share: their answers
/// are of one form.
namespace ctxfs::golden {

class TensorGolden : public testing::TestWithParam<std::string> {
 protected:
  /// `extension` of a container that is one file, with its dot.
  Result<std::shared_ptr<const Container>> Open(const std::string& extension,
                                                bool salvage) const {
    const std::string folder = GetParam().substr(0, GetParam().find('/') + 1);
    const std::string file = answer_.contains("source")
                                 ? folder + answer_["source"].get<std::string>()
                                 : GetParam() + extension;
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(PathOf(file));
    EXPECT_TRUE(source) << file;
    OpenOptions options;
    options.salvage = salvage;
    return OpenContainer(*source, options);
  }

  static Code CodeOf(int exit) {
    return exit == 3   ? Code::kNotContainer
           : exit == 5 ? Code::kVersion
           : exit == 8 ? Code::kLimit
                       : Code::kCorrupt;
  }

  /// The answer with these keys is refused, as it says, or nothing is checked.
  static bool ExpectRefusal(
      const Json& open, const Result<std::shared_ptr<const Container>>& got) {
    if (open["exit"] == 0) return false;
    EXPECT_FALSE(got) << open["why"];
    if (got) return true;
    EXPECT_EQ(got.error().code, CodeOf(open["exit"])) << got.error().Text();
    EXPECT_NE(got.error().offset, kNoOffset) << got.error().Text();
    EXPECT_FALSE(got.error().what.empty());
    return true;
  }

  static std::string Unhex(const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    return bytes;
  }

  static std::optional<NodeId> Find(const ContainerTree& tree,
                                    const std::string& path) {
    NodeId node = FileTree::kRoot;
    for (size_t at = 0; at <= path.size();) {
      const size_t slash = std::min(path.find('/', at), path.size());
      const auto next = tree.Lookup(node, path.substr(at, slash - at));
      if (!next) return std::nullopt;
      node = *next;
      at = slash + 1;
    }
    return node;
  }

  std::string Read(const Content& content) {
    Result<std::string> bytes = ReadAll(content, cache_);
    EXPECT_TRUE(bytes) << bytes.error().Text();
    return bytes ? *bytes : "";
  }

  /// The text of a file of the tree; nothing if it is not there.
  std::optional<std::string> ReadFileAt(const ContainerTree& tree,
                                        const std::string& path) {
    const std::optional<NodeId> node = Find(tree, path);
    if (!node) return std::nullopt;
    const Result<uint64_t> size = tree.Size(*node, cache_);
    const Result<Content> content = tree.Open(*node, cache_);
    EXPECT_TRUE(size && content) << path;
    if (!size || !content) return std::nullopt;
    EXPECT_EQ(*size, content->size()) << path;
    return Read(*content);
  }

  /// Any window is what the whole has there.
  void CheckWindows(const Content& content, const std::string& whole) {
    std::mt19937 random(5);
    Window window;
    for (int i = 0; i < 20 && !whole.empty(); ++i) {
      const size_t at = random() % whole.size();
      const size_t length = 1 + random() % (i % 2 == 0 ? 40 : whole.size());
      window.Clear();
      ASSERT_TRUE(content.Read(at, length, cache_, window));
      std::string part;
      for (const Bytes slice : window.slices()) part += AsText(slice);
      ASSERT_EQ(part, whole.substr(at, length)) << at << " " << length;
    }
  }

  /// The key in `arrays` of each entry, in index order: a name that was there
  /// before is "#N".
  static std::vector<std::string> KeysOf(const Json& answer) {
    std::vector<std::string> keys;
    std::set<std::string> seen;
    for (const Json& name : answer["order"]) {
      std::string key = name;
      if (!seen.insert(key).second) key = "#" + std::to_string(keys.size());
      keys.push_back(std::move(key));
    }
    return keys;
  }

  static bool IsEio(const Json& answer, const Json& array) {
    return array["size"] == 0 &&
           (answer.contains("eio") || !array.contains("sha256"));
  }

  void CheckTensor(const ContainerTree& tree, uint32_t entry,
                   const Json& array) {
    const std::string path =
        "tensors/" + (array.contains("path_hex")
                          ? Unhex(array["path_hex"])
                          : array["path"].get<std::string>());
    const std::optional<NodeId> node = Find(tree, path);
    ASSERT_TRUE(node) << path;
    ASSERT_EQ(tree.Entry(*node), entry) << path;
    const EntryInfo info = *tree.Describe(*node, cache_);
    if (array.contains("dtype")) {
      EXPECT_EQ(info.dtype, array["dtype"]);
    }
    if (array.contains("shape")) {
      EXPECT_EQ(Json(*info.shape), array["shape"]);
    }
    EXPECT_EQ(*tree.Size(*node, cache_), array["size"]);
    EXPECT_EQ(info.size, array["size"]);
    EXPECT_EQ(info.verified, "none");
    const Result<Content> content = tree.Open(*node, cache_);
    if (!array.contains("sha256")) {
      ASSERT_FALSE(content) << path;
      EXPECT_NE(info.note, "");
      return;
    }
    EXPECT_EQ(info.offset, array["offset"]);
    ASSERT_TRUE(content) << content.error().Text();
    EXPECT_EQ(Sha256(Read(*content)), array["sha256"]);
  }

  /// Float32 values of the arrays that have an answer for them.
  void CheckValues(const Container& container, const Json& answer) {
    std::multimap<std::string, std::string> expected;
    for (const auto& [key, array] : answer["arrays"].items()) {
      if (!array.contains("f32_sha256")) continue;
      std::string name = key;
      if (array.contains("name")) name = array["name"];
      if (array.contains("name_hex")) name = Unhex(array["name_hex"]);
      expected.emplace(name, array["f32_sha256"]);
    }
    for (const ArrayInfo& array : ArraysOf(container)) {
      const auto [first, last] = expected.equal_range(array.name);
      if (first == last) continue;
      SCOPED_TRACE(array.name);
      Result<Content> content = OpenElements(array, cache_);
      ASSERT_TRUE(content) << content.error().Text();
      if (Widened(array.dtype) != array.dtype) {
        content = WidenElements(array.dtype, *content);
      }
      const std::string values = Read(*content);
      CheckWindows(*content, values);
      const std::string digest = Sha256(values);
      const auto found = std::find_if(
          first, last, [&](const auto& one) { return one.second == digest; });
      EXPECT_TRUE(found != last);
      if (found != last) expected.erase(found);
    }
    for (const auto& [name, digest] : expected) {
      ADD_FAILURE() << "no values of " << name;
    }
  }

  void CheckTensors(const ContainerTree& tree, const Json& answer) {
    const std::vector<std::string> keys = KeysOf(answer);
    ASSERT_EQ(tree.entries()->count(), keys.size());
    for (uint32_t i = 0; i < keys.size(); ++i) {
      SCOPED_TRACE(keys[i]);
      CheckTensor(tree, i, answer["arrays"][keys[i]]);
    }
    CheckValues(tree.container(), answer);
  }

  /// Every key of `answer` has a warning that contains its phrase.
  static void CheckWarnings(const Container& container, const Json& answer,
                            const std::map<std::string, std::string>& phrases) {
    const Json shown = container.Info(LoneContext())["warnings"];
    for (const Json& key : answer.value("warnings", Json::array())) {
      const auto phrase = phrases.find(key);
      ASSERT_TRUE(phrase != phrases.end()) << key;
      EXPECT_TRUE(std::any_of(shown.begin(), shown.end(),
                              [&](const Json& one) {
                                return one.get<std::string>().find(
                                           phrase->second) != std::string::npos;
                              }))
          << key << " in " << shown;
    }
    if (answer.value("warnings", Json::array()).empty()) {
      EXPECT_EQ(shown, Json::array());
    }
  }

  const Json answer_ = AnswerOf(GetParam());
  BlockCache cache_{limits::kGiB};
};

}  // namespace ctxfs::golden
