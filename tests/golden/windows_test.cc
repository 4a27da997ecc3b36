// SPDX-License-Identifier: Apache-2.0
//
// Any window of any file of a golden container holds what the whole file has
// there, and a file is as long as its tree says. Through a mount the kernel
// would read pages and never an odd window. What the files hold is compared
// with the answers by tests/mount.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/directory.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "core/views/list/views.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

namespace stdfs = std::filesystem;

// A larger file is not read, and no more than so many bytes of a container.
constexpr uint64_t kMaxOfFile = 4 * limits::kMiB;
constexpr uint64_t kMaxOfContainer = 64 * limits::kMiB;
constexpr int kWindows = 20;
// Files of a numbered directory that are read.
constexpr uint32_t kMaxNumbered = 64;

using SourcePtr = std::shared_ptr<const Source>;

/// Everything in a folder of golden/ that may be a container.
std::vector<SourcePtr> SourcesBelow(const stdfs::path& folder) {
  std::vector<SourcePtr> sources;
  for (const auto& file : stdfs::recursive_directory_iterator(folder)) {
    if (file.is_directory()) {
      const auto source = DirectorySource::Open(file.path().string());
      if (source && IsContainerDirectory(**source)) sources.push_back(*source);
    } else if (file.path().extension() != ".md") {
      const auto source = FileSource::Open(file.path().string());
      if (source) sources.push_back(*source);
    }
  }
  return sources;
}

class GoldenWindows : public testing::TestWithParam<std::string> {
 protected:
  void CheckContainer(std::shared_ptr<const Container> container,
                      std::vector<ChildContainer> attached) {
    const ContainerTree tree(std::move(container), {}, std::move(attached));
    for (NodeId node = 0; node < tree.tree().node_count(); ++node) {
      if (tree.Type(node) == NodeType::kLink) continue;
      if (!tree.IsDirectory(node)) {
        SCOPED_TRACE(tree.Path(node));
        CheckFile(tree, node);
        continue;
      }
      if (const NumberedDirectory* numbered = tree.Numbered(node)) {
        CheckNumbered(*numbered);
      }
      const auto child = tree.NestedAt(node);
      if (!child || child->open == nullptr) continue;
      const auto views = child->open(cache_);
      if (views) CheckContainer(*views, {});
    }
  }

  void CheckNumbered(const NumberedDirectory& numbered) {
    ASSERT_TRUE(numbered.FindNames(cache_).has_value());
    const uint32_t count =
        std::min(numbered.ChildCount(FileTree::kRoot), kMaxNumbered);
    for (NodeId node = 1; node <= count; ++node) {
      SCOPED_TRACE(numbered.Path(node));
      const auto inside = numbered.NestedAt(node);
      if (!inside) {
        CheckFile(numbered, node);
      } else if (const auto made = inside->open(cache_)) {
        CheckContainer(*made, {});
      }
    }
  }

  void CheckFile(const FileTree& tree, NodeId node) {
    const Result<bool> exists = tree.Exists(node, Cost::kDecode, cache_);
    if (!exists || !*exists) return;
    const Result<uint64_t> size = tree.Size(node, cache_);
    const Result<Content> content = tree.Open(node, cache_);
    if (!size || !content) return;
    ASSERT_EQ(content->size(), *size);
    if (*size > kMaxOfFile || read_ + *size > kMaxOfContainer) return;
    read_ += *size;
    const Result<std::string> whole = ReadAll(*content, cache_);
    if (!whole) return;
    ASSERT_EQ(whole->size(), *size);
    CheckWindows(*content, *whole);
    ++files_;
  }

  void CheckWindows(const Content& content, const std::string& whole) {
    Window window;
    for (int i = 0; i < kWindows && !whole.empty(); ++i) {
      const size_t at = random_() % whole.size();
      const size_t most = i % 2 == 0 ? 40 : whole.size();
      const size_t length = 1 + random_() % most;
      window.Clear();
      ASSERT_TRUE(content.Read(at, length, cache_, window));
      std::string part;
      for (const Bytes slice : window.slices()) part += AsText(slice);
      // Not ASSERT_EQ, which would print both.
      ASSERT_TRUE(part == whole.substr(at, length)) << at << "+" << length;
    }
  }

  BlockCache cache_{64 * limits::kMiB};
  std::mt19937 random_{5};
  uint64_t read_ = 0;
  uint64_t files_ = 0;
};

/// The key of golden/conventions/encrypted.mosh.
std::shared_ptr<const MasterKey> Key() {
  std::array<std::byte, MasterKey::kBytes> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i);
  return std::make_shared<const MasterKey>(bytes);
}

TEST_P(GoldenWindows, HoldWhatTheWholeHas) {
  for (const SourcePtr& source :
       SourcesBelow(stdfs::path(CTXFS_GOLDEN_DIR) / GetParam())) {
    for (const bool salvage : {false, true}) {
      OpenOptions options;
      options.salvage = salvage;
      options.key = Key();
      const auto container = OpenContainer(source, options);
      if (!container) continue;
      SCOPED_TRACE(source->name());
      read_ = 0;
      CheckContainer(*container, AttachedViews(*container, AllViews()));
    }
  }
  EXPECT_GT(files_, 0U);
}

std::vector<std::string> Folders() {
  std::vector<std::string> names;
  for (const auto& folder : stdfs::directory_iterator(CTXFS_GOLDEN_DIR)) {
    if (folder.is_directory()) names.push_back(folder.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string NameOf(const testing::TestParamInfo<std::string>& folder) {
  std::string name = folder.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, GoldenWindows, testing::ValuesIn(Folders()),
                         NameOf);

}  // namespace
}  // namespace ctxfs
