// SPDX-License-Identifier: Apache-2.0
//
// Opens the input as a container, as it is and salvaged, walks its tree, and
// reads everything in it. Nothing may crash, hang, or read what is not there.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/branch.h"
#include "core/tree/index_json.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

// What is larger costs time and finds nothing new.
constexpr uint64_t kMostRead = 16 * limits::kMiB;

/// For what must hold of any input: unlike assert, in every build.
void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadFile(const Branch& branch, NodeId node, BlockCache& cache) {
  const Result<bool> exists = branch.Exists(node, false, cache);
  if (!exists || !*exists) return;
  const Result<uint64_t> size = branch.Size(node, cache);
  const Result<Content> content = branch.Open(node, cache);
  if (!size || !content) return;
  Require(content->size() == *size);
  if (*size > kMostRead) return;
  const Result<std::string> whole = ReadAll(*content, cache);
  if (!whole) return;
  Require(whole->size() == *size);
  // A window in the middle is what the whole has there.
  Window window;
  const uint64_t at = *size / 3;
  const size_t length = static_cast<size_t>(*size / 2);
  const Status read = content->Read(at, length, cache, window);
  Require(read.has_value());
  std::string part;
  for (const Bytes slice : window.slices()) part += AsText(slice);
  Require(part == whole->substr(static_cast<size_t>(at), length));
}

/// Files that are computed from their numbers: both ends of them.
void ReadNumbered(const Files& directory, BlockCache& cache) {
  const uint32_t count = directory.ChildCount(Files::kRoot);
  for (const uint32_t number : {0U, count / 2, count - 1}) {
    if (number >= count) continue;
    const Files::Child child = directory.ChildAt(Files::kRoot, number);
    const NodeId file = child.node;
    Require(directory.Lookup(Files::kRoot, child.name) == file);
    const Result<uint64_t> size = directory.Size(file, cache);
    const Result<Content> content = directory.Open(file, cache);
    if (!size || !content) continue;
    Require(content->size() == *size);
    if (*size > kMostRead) continue;
    const Result<std::string> bytes = ReadAll(*content, cache);
    Require(!bytes || bytes->size() == *size);
  }
}

// How far down containers in containers are followed, and how many of one.
constexpr int kMostDepth = 2;
constexpr size_t kMostWithin = 16;

void ReadEverything(std::shared_ptr<const Container> container, int depth = 0) {
  BlockCache cache(kMostRead);
  for (uint32_t i = 0; i < container->entry_count(); ++i) {
    const EntryInfo info = container->Describe(i);
    Require(info.size == container->EntrySize(i));
  }
  for (const ArrayInfo& array : container->Arrays()) {
    const Result<Content> elements = array.open(cache);
    if (!elements) continue;
    uint64_t size = DTypeSize(array.dtype);
    for (const uint64_t dimension : array.shape) size *= dimension;
    Require(elements->size() == size);
  }
  if (MayHaveViews(*container, AllViews())) {
    ReadEverything(ViewsDirectory(container, AllViews()).open(), kMostDepth);
  }
  const Branch branch(std::move(container));
  const Tree& tree = branch.tree();
  for (NodeId node = 0; node < tree.node_count(); ++node) {
    if (node != Tree::kRoot) {
      Require(tree.Lookup(tree.Parent(node), tree.Name(node)) == node);
    }
    if (!tree.IsDirectory(node)) ReadFile(branch, node, cache);
    if (const Files* numbered = branch.Numbered(node)) {
      ReadNumbered(*numbered, cache);
    }
  }
  const size_t within =
      depth < kMostDepth ? std::min(kMostWithin, branch.sub_containers().size())
                         : 0;
  for (size_t i = 0; i < within; ++i) {
    auto source = branch.sub_containers()[i].open_source();
    if (!source) continue;
    auto inside = OpenContainer(std::move(*source), {});
    if (inside) ReadEverything(std::move(*inside), depth + 1);
  }
}

}  // namespace
}  // namespace ctxfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The key that golden/conventions is sealed with.
  static const auto key = [] {
    std::byte bytes[ctxfs::MasterKey::kBytes];
    for (size_t i = 0; i < sizeof(bytes); ++i) bytes[i] = std::byte(i);
    return std::make_shared<const ctxfs::MasterKey>(bytes);
  }();
  ctxfs::OpenOptions strict;
  strict.key = key;
  ctxfs::OpenOptions salvage;
  salvage.salvage = true;
  // Unverified as well: few mutations have the checksum that they need to be
  // decoded at all.
  ctxfs::OpenOptions unverified = salvage;
  unverified.verify = false;
  for (const ctxfs::OpenOptions& options : {strict, salvage, unverified}) {
    auto source = std::make_shared<const ctxfs::MemorySource>(
        std::string(reinterpret_cast<const char*>(data), size));
    auto container = ctxfs::OpenContainer(std::move(source), options);
    if (container) ctxfs::ReadEverything(std::move(*container));
  }
  return 0;
}
