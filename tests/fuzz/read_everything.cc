// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/read_everything.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/io/spill_file.h"
#include "core/tree/container_tree.h"
#include "core/vfs/xattr.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "tests/support/judge.h"
#include "tests/unit/testing/files.h"

namespace ctxfs::fuzz {
namespace {

// What is more costs time and finds nothing new: bytes of a file, and of all
// files of one input; nodes of a tree; numbers of a directory of them.
constexpr uint64_t kMaxOfFile = limits::kMiB;
constexpr uint64_t kMaxRead = 4 * limits::kMiB;
constexpr uint32_t kMaxNodes = 2048;
constexpr uint32_t kMaxNumbered = 4;
// Of a cache that decodes what is larger in pieces, into a temporary file.
constexpr uint64_t kSmallCache = 2 * limits::kKiB;

std::shared_ptr<SpillFile> TemporaryFile() {
  static const auto file = SpillFile::Make(SpillDirectory(), UINT64_MAX);
  Require(file.has_value(), "there is a temporary file");
  return *file;
}

class Reader {
 public:
  Reader(const OpenOptions& options, Depth depth)
      : options_(options), depth_(depth) {
    small_cache_.SpillTo(TemporaryFile());
  }

  void ReadContainer(std::shared_ptr<const Container> container, int depth) {
    RequireSound(*container, cache_, kMaxNodes);
    std::vector<ChildContainer> views;
    if (MayHaveViews(*container, AllViews())) {
      views.push_back(ViewsDirectory(container, AllViews()));
    }
    const ContainerTree container_tree(std::move(container), {},
                                       std::move(views));
    const NodeId nodes =
        std::min(container_tree.tree().node_count(), kMaxNodes);
    int within = depth < depth_.levels ? depth_.each : 0;
    for (NodeId node = 0; node < nodes; ++node) {
      CheckNode(container_tree, node);
      if (!container_tree.IsDirectory(node)) {
        ReadFile(container_tree, node);
        continue;
      }
      ListDirectory(container_tree, node);
      if (const NumberedDirectory* numbered = container_tree.Numbered(node)) {
        ReadNumbered(*numbered);
      }
      const auto inside = container_tree.NestedAt(node);
      if (!inside) continue;
      if (inside->open != nullptr) {
        auto made = inside->open(cache_);
        // Views have no containers in them.
        if (made) ReadContainer(std::move(*made), depth_.levels);
      } else if (within-- > 0) {
        Enter(*inside, depth + 1);
      }
    }
  }

 private:
  void ReadNumbered(const NumberedDirectory& numbered) {
    if (!numbered.FindNames(cache_)) return;
    ForNumbered(numbered, kMaxNumbered, [&](NodeId file) {
      const auto inside = numbered.NestedAt(file);
      if (!inside) return ReadFile(numbered, file);
      auto made = inside->open(cache_);
      if (made) ReadContainer(std::move(*made), depth_.levels);
    });
  }

  void Enter(const ChildContainer& sub, int depth) {
    auto source = sub.open_source(cache_);
    if (!source) return;
    auto container = OpenContainer(std::move(*source), options_);
    if (container) ReadContainer(std::move(*container), depth);
  }

  void CheckNode(const ContainerTree& container_tree, NodeId node) {
    RequireFound(container_tree.tree(), node);
    if (const std::optional<EntryInfo> info =
            container_tree.Describe(node, LoneContext())) {
      for (const auto& [name, value] :
           EntryXattrs(*info, container_tree.Path(node))) {
        Require(value.size() < limits::kXattrBytes, "an attribute is short");
      }
    }
  }

  void ListDirectory(const FileTree& files, NodeId node) {
    const uint32_t count = std::min(files.ChildCount(node), kMaxNodes);
    for (uint32_t i = 0; i < count; ++i) {
      const FileTree::Child child = files.ChildAt(node, i);
      Require(files.Parent(child.node) == node, "a child has its parent");
      Require(files.IsDirectory(child.node) == child.directory(),
              "a listing says what is a directory");
    }
  }

  void ReadFile(const FileTree& files, NodeId node) {
    const Result<bool> exists = files.Exists(node, Cost::kDecode, cache_);
    if (!exists || !*exists) return;
    if (files.Type(node) == NodeType::kLink) {
      Require(files.LinkTarget(node).size() == *files.Size(node, cache_),
              "a link is as long as its target");
      return;
    }
    (void)files.At(node).table->access(files.At(node).number);
    const Result<uint64_t> size = files.Size(node, cache_);
    const Result<Content> content = files.Open(node, cache_);
    if (!size || !content) return;
    Require(content->size() == *size, "a file is as long as it was said to be");
    if (*size > kMaxOfFile || read_ + *size > kMaxRead) return;
    read_ += *size;
    const Result<std::string> whole = ReadAll(*content, cache_);
    if (!whole) return;
    Require(whole->size() == *size, "a read is whole");
    ReadWindow(*content, *whole, cache_);
    if (*size > kSmallCache) ReadWindow(*content, *whole, small_cache_);
    const std::string path = files.Path(node);
    if (path == ".ctxfs/info.json" || path == ".ctxfs/index.json" ||
        path == ".ctxfs/faults.json") {
      Require(ParseJson(*whole).has_value(), "what is said of it is JSON");
    }
  }

  /// A window in the middle is what the whole has there.
  static void ReadWindow(const Content& content, const std::string& whole,
                         BlockCache& cache) {
    Window window;
    const size_t at = whole.size() / 3;
    const size_t length = whole.size() / 2;
    Require(content.Read(at, length, cache, window).has_value(),
            "what was read can be read again");
    size_t done = 0;
    for (const Bytes slice : window.slices()) {
      Require(whole.compare(at + done, slice.size(), AsText(slice)) == 0,
              "a window holds what the whole has there");
      done += slice.size();
    }
    Require(done == std::min(length, whole.size() - at), "a window is whole");
  }

  OpenOptions options_;
  Depth depth_;
  BlockCache cache_{kMaxRead};
  BlockCache small_cache_{kSmallCache};
  uint64_t read_ = 0;
};

}  // namespace

void ReadEverything(std::shared_ptr<const Container> container,
                    const OpenOptions& options, Depth depth) {
  Reader(options, depth).ReadContainer(std::move(container), 0);
}

}  // namespace ctxfs::fuzz
