// SPDX-License-Identifier: Apache-2.0
#include "tests/model/samples.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "core/container/format.h"
#include "core/container/unreadable.h"
#include "core/content/window.h"
#include "core/vfs/namespace.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "tests/mutation/corpus.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::model {
namespace {

constexpr size_t kGenerations = 8;
constexpr size_t kBuiltBytes = size_t{48} << 10;
constexpr size_t kLargestGolden = size_t{32} << 10;
constexpr size_t kMaxFiles = 400;  // of one golden container
constexpr size_t kMaxOfCorpus = 12;

std::string Text(const std::string& what, size_t generation) {
  return what + " of generation " + std::to_string(generation);
}

std::string BuildInner(size_t generation) {
  const auto seed = static_cast<uint32_t>(generation);
  return BuildShard({.entries = {Raw("x", Text("x", generation)),
                                 ZstdEntry("deep/y", Prose(900, seed))},
                     .role = 16});
}

/// Entries of each kind that is read in its own way: raw, compressed, empty,
/// damaged, a container stored raw, and one stored compressed.
std::vector<ShardEntry> BuiltEntries(size_t generation) {
  const auto seed = static_cast<uint32_t>(generation);
  ShardEntry damaged = Raw("damaged", Text("damaged", generation));
  damaged.checksum ^= 1;
  return {Raw("generation", Text("entry", generation)),
          Raw("d/body", Prose(9000, seed)),
          ZstdEntry("d/packed", Prose(20'000, seed + 100)),
          Lz4Entry("lz4", Prose(5000, seed + 200)),
          Raw("empty", ""),
          std::move(damaged),
          Raw("in.shard", BuildInner(generation)),
          ZstdEntry("packed.shard", BuildInner(generation + 50))};
}

/// A Shard of exactly kBuiltBytes. Layout 1 has the entries of layout 0 in
/// another order, and some of them under other names.
std::string Build(size_t layout, size_t generation) {
  ShardSpec spec{.entries = BuiltEntries(generation), .role = 16};
  if (layout == 1) {
    std::swap(spec.entries[0], spec.entries[2]);
    std::swap(spec.entries[1], spec.entries[3]);
    std::swap(spec.entries[4], spec.entries[6]);
    spec.entries[0].name = "other/name";
  }
  const size_t size = BuildShard(spec).size();
  if (size > kBuiltBytes) std::abort();
  spec.gap = std::string(kBuiltBytes - size, '\0');
  return BuildShard(spec);
}

std::string Plain(size_t size, size_t generation) {
  std::string text;
  while (text.size() < size) {
    text += Text("line " + std::to_string(text.size()), generation) + '\n';
  }
  text.resize(size);
  return text;
}

std::shared_ptr<const Container> Open(
    const std::shared_ptr<const Source>& source) {
  Result<std::shared_ptr<const Container>> container =
      OpenContainer(source, StrictOptions());
  if (container) return *container;
  return UnreadableContainer(source, container.error());
}

/// Walks a namespace and writes down what it shows, unlisted directories too.
class Walker {
 public:
  explicit Walker(const std::shared_ptr<const Container>& container)
      : files_({.container = container,
                .open = StrictOptions(),
                .list_mode = ListMode::kAll,
                .extras = &AllViewsOf}) {}

  /// Fails for a tree of more than kMaxFiles.
  std::optional<ShownTree> Walk() {
    tree_[""] = {.directory = true};
    List(kRootInode, "");
    if (tree_.size() > kMaxFiles) return std::nullopt;
    return std::move(tree_);
  }

 private:
  static std::vector<ChildContainer> AllViewsOf(
      const std::shared_ptr<const Container>& container) {
    return AttachedViews(container, AllViews());
  }

  void List(Inode directory, const std::string& path) {
    const auto listing = files_.OpenDirectory(directory, ReadContext(cache_));
    if (!listing || !(*listing)->Rewind(ReadContext(cache_))) std::abort();
    for (uint64_t i = 0; i < (*listing)->count(); ++i) {
      if (tree_.size() > kMaxFiles) return;
      const auto name =
          (*listing)->At(i, /*attributes=*/false, ReadContext(cache_));
      if (name) AddName(directory, path, name->name);
    }
  }

  void AddName(Inode directory, const std::string& path,
               const std::string& name) {
    const auto found = files_.Lookup(directory, name, ReadContext(cache_));
    if (!found || !*found) return;  // damaged where its size is worked out
    const std::string full = path.empty() ? name : path + "/" + name;
    const Attributes& attributes = (*found)->attributes;
    Shown& shown = tree_[full];
    shown.directory = attributes.directory;
    shown.size = attributes.size;
    shown.live = attributes.lifetime == Lifetime::kNone;
    if (shown.directory) {
      List((*found)->inode, full);
    } else {
      ReadFile((*found)->inode, shown);
    }
  }

  void ReadFile(Inode inode, Shown& shown) {
    const auto file = files_.Open(inode, ReadContext(cache_));
    if (!file) return;
    Result<std::string> bytes = ReadAll(file->content, ReadContext(cache_));
    if (bytes) {
      shown.bytes = std::move(*bytes);
    } else {
      shown.partly = HasReadablePart(file->content);
    }
  }

  bool HasReadablePart(const Content& content) {
    constexpr uint64_t kStep = 64;  // bytes
    Window window;
    for (uint64_t at = 0; at < content.size(); at += kStep) {
      if (content.Read(at, 1, ReadContext(cache_), window)) return true;
    }
    return false;
  }

  BlockCache cache_{64 << 20};
  Namespace files_;
  ShownTree tree_;
};

bool SameTrees(const ShownTree& one, const ShownTree& two) {
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.bytes == b.second.bytes &&
           a.second.size == b.second.size &&
           a.second.directory == b.second.directory;
  };
  return one.size() == two.size() &&
         std::equal(one.begin(), one.end(), two.begin(), same);
}

/// Whether a container shows the same as a file and in memory.
bool IsSelfContained(const std::string& folder, const std::string& bytes) {
  const std::string path = folder + "/sample";
  std::ofstream(path, std::ios::binary) << bytes;
  const auto file = FileSource::Open(path);
  if (!file) return false;
  const auto from_file = Walker(Open(*file)).Walk();
  const auto from_memory =
      Walker(Open(std::make_shared<MemorySource>(bytes))).Walk();
  return from_file && from_memory && SameTrees(*from_file, *from_memory);
}

}  // namespace

Samples::Samples(const std::string& folder) {
  AddBuilt();
  AddPlain();
  AddGolden(folder);
  AddCuts();
  for (size_t i = 0; i < samples_.size(); ++i) {
    by_size_[samples_[i].bytes.size()].push_back(i);
    if (samples_[i].container) ++containers_;
  }
}

std::optional<size_t> Samples::Cut(size_t sample) const {
  const auto found = cuts_.find(sample);
  if (found == cuts_.end()) return std::nullopt;
  return found->second;
}

void Samples::Add(std::string name, std::string bytes) {
  Sample sample{std::move(name), std::move(bytes)};
  const size_t head =
      std::min<size_t>(sample.bytes.size(), limits::kProbeBytes);
  sample.container =
      IsContainerInPlaceOfFile(AsBytes(sample.bytes).first(head));
  if (sample.container) {
    auto tree =
        Walker(Open(std::make_shared<MemorySource>(sample.bytes))).Walk();
    if (!tree) return;
    sample.tree = std::move(*tree);
  }
  samples_.push_back(std::move(sample));
}

void Samples::AddBuilt() {
  for (size_t generation = 0; generation < kGenerations; ++generation) {
    for (const size_t layout : {size_t{0}, size_t{1}}) {
      Add("shard " + std::to_string(generation) + " of layout " +
              std::to_string(layout),
          Build(layout, generation));
    }
  }
}

void Samples::AddPlain() {
  for (const size_t size : {size_t{1}, size_t{5000}, kBuiltBytes}) {
    for (size_t generation = 0; generation < kGenerations / 2; ++generation) {
      Add(std::to_string(size) + " plain bytes " + std::to_string(generation),
          Plain(size, generation));
    }
  }
  Add("no bytes", "");
}

void Samples::AddGolden(const std::string& folder) {
  for (const std::string& corpus : CorpusNames()) {
    const std::vector<GoldenCase> cases = LoadCorpus(corpus);
    const size_t stride = std::max<size_t>(cases.size() / kMaxOfCorpus, 1);
    for (size_t i = 0; i < cases.size(); i += stride) {
      const GoldenCase& one = cases[i];
      if (one.target.empty()) continue;  // a directory
      const std::string& bytes = *one.files.at(one.target);
      if (bytes.size() > kLargestGolden) continue;
      if (IsSelfContained(folder, bytes)) Add(one.name, bytes);
    }
  }
}

void Samples::AddCuts() {
  const size_t whole = samples_.size();
  for (size_t i = 0; i < whole; i += 2) {
    const std::string& bytes = samples_[i].bytes;
    if (bytes.size() < 2) continue;
    const size_t before = samples_.size();
    Add(samples_[i].name + ", cut", bytes.substr(0, bytes.size() * 3 / 5));
    if (samples_.size() > before) cuts_[i] = before;
  }
}

}  // namespace ctxfs::model
