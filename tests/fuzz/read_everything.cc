// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/read_everything.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/io/spill_file.h"
#include "core/registry/views.h"
#include "core/tree/container_tree.h"
#include "core/vfs/xattr.h"
#include "core/views/view.h"
#include "tests/fuzz/target.h"
#include "tests/unit/testing/files.h"

namespace ctxfs::fuzz {
namespace {

// What is more costs time and finds nothing new: bytes of a file, and of all
// files of one input; nodes of a tree; numbers of a directory of them.
constexpr uint64_t kMostOfFile = limits::kMiB;
constexpr uint64_t kMostRead = 4 * limits::kMiB;
constexpr uint32_t kMostNodes = 2048;
constexpr uint32_t kMostNumbered = 4;
// Of a cache that decodes what is larger in pieces, into a temporary file.
constexpr uint64_t kSmallCache = 2 * limits::kKiB;

std::shared_ptr<SpillFile> TemporaryFile() {
  static const auto file = SpillFile::Make(SpillDirectory(), UINT64_MAX);
  Require(file.has_value(), "there is a temporary file");
  return *file;
}

void RequireSafeName(std::string_view name) {
  Require(!name.empty() && name != "." && name != ".." &&
              name.size() <= limits::kComponentBytes &&
              name.find('/') == std::string_view::npos &&
              name.find('\0') == std::string_view::npos,
          "a name is one component");
}

class Reader {
 public:
  Reader(const OpenOptions& options, Depth depth)
      : options_(options), depth_(depth) {
    small_cache_.SpillTo(TemporaryFile());
  }

  void ReadContainer(std::shared_ptr<const Container> container, int depth) {
    ReadEntries(*container);
    std::vector<ChildContainer> hanging;
    if (MayHaveViews(*container, AllViews())) {
      hanging.push_back(ViewsDirectory(container, AllViews()));
    }
    const ContainerTree branch(std::move(container), {}, std::move(hanging));
    const NodeId nodes = std::min(branch.tree().node_count(), kMostNodes);
    int within = depth < depth_.levels ? depth_.each : 0;
    for (NodeId node = 0; node < nodes; ++node) {
      CheckNode(branch, node);
      if (!branch.IsDirectory(node)) {
        ReadFile(branch, node);
        continue;
      }
      ListDirectory(branch, node);
      if (const FileTree* numbered = branch.Numbered(node))
        ReadNumbered(*numbered);
      const ChildContainer* inside = branch.Hanging(node);
      if (inside == nullptr) continue;
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
  void ReadEntries(const Container& container) {
    const Json metadata = container.Metadata();
    const auto table = container.Entries();
    const uint32_t entries = std::min(table->count(), kMostNodes);
    for (uint32_t i = 0; i < entries; ++i) {
      EntryInfo info = table->Describe(i, LoneContext()).value_or(EntryInfo{});
      const std::optional<uint64_t> known = table->KnownSize(i);
      Require(!known || info.size == *known, "an entry has one size");
      container.Annotate(metadata, info);
      (void)table->access(i);
    }
    for (const ArrayInfo& array : ArraysOf(container)) {
      const Result<Content> elements = array.open(cache_);
      if (!elements) continue;
      uint64_t bits = DTypeBits(array.dtype);
      for (const uint64_t dimension : array.shape) bits *= dimension;
      Require(elements->size() == bits / 8 + (bits % 8 != 0 ? 1 : 0),
              "an array is as long as its shape");
    }
  }

  void Enter(const ChildContainer& sub, int depth) {
    auto source = sub.open_source(cache_);
    if (!source) return;
    auto container = OpenContainer(std::move(*source), options_);
    if (container) ReadContainer(std::move(*container), depth);
  }

  void CheckNode(const ContainerTree& branch, NodeId node) {
    const NameTree& tree = branch.tree();
    if (node != NameTree::kRoot) {
      RequireSafeName(tree.Name(node));
      Require(tree.Lookup(tree.Parent(node), tree.Name(node)) == node,
              "a name leads to its node");
    }
    if (const std::optional<EntryInfo> info =
            branch.Describe(node, LoneContext())) {
      for (const auto& [name, value] : EntryXattrs(*info, branch.Path(node))) {
        Require(value.size() < limits::kXattrBytes, "an attribute is short");
      }
    }
  }

  void ListDirectory(const FileTree& files, NodeId node) {
    const uint32_t count = std::min(files.ChildCount(node), kMostNodes);
    for (uint32_t i = 0; i < count; ++i) {
      const FileTree::Child child = files.ChildAt(node, i);
      Require(files.Parent(child.node) == node, "a child has its parent");
      Require(files.IsDirectory(child.node) == child.directory,
              "a listing says what is a directory");
    }
  }

  /// Files that are computed from their numbers: both ends, and a few between.
  void ReadNumbered(const FileTree& directory) {
    const uint32_t count = directory.ChildCount(FileTree::kRoot);
    const uint32_t step = std::max(1U, count / kMostNumbered);
    for (uint64_t number = 0; number < count; number += step) {
      const FileTree::Child child =
          directory.ChildAt(FileTree::kRoot, static_cast<uint32_t>(number));
      RequireSafeName(child.name);
      Require(directory.Lookup(FileTree::kRoot, child.name) == child.node,
              "a number leads to its file");
      ReadFile(directory, child.node);
    }
  }

  void ReadFile(const FileTree& files, NodeId node) {
    const Result<bool> exists = files.Exists(node, Cost::kDecode, cache_);
    if (!exists || !*exists) return;
    (void)files.At(node).table->access(files.At(node).number);
    const Result<uint64_t> size = files.Size(node, cache_);
    const Result<Content> content = files.Open(node, cache_);
    if (!size || !content) return;
    Require(content->size() == *size, "a file is as long as it was said to be");
    if (*size > kMostOfFile || read_ + *size > kMostRead) return;
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
  BlockCache cache_{kMostRead};
  BlockCache small_cache_{kSmallCache};
  uint64_t read_ = 0;
};

}  // namespace

void ReadEverything(std::shared_ptr<const Container> container,
                    const OpenOptions& options, Depth depth) {
  Reader(options, depth).ReadContainer(std::move(container), 0);
}

}  // namespace ctxfs::fuzz
