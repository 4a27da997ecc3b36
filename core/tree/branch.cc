// SPDX-License-Identifier: Apache-2.0
#include "core/tree/branch.h"

#include <map>
#include <span>
#include <utility>

#include "core/tree/index_json.h"
#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

Content LiteralContent(std::string text) {
  auto shared = std::make_shared<const std::string>(std::move(text));
  const uint64_t size = shared->size();
  Content content;
  content.Append(Literal{std::move(shared)}, size);
  return content;
}

/// Puts the file of an entry below `top`, at the entry's name.
void AddNamed(TreeBuilder& builder, NodeId top, SafePath& path,
              std::optional<std::string_view> name, uint32_t entry,
              FileId file) {
  if (!name) {
    builder.AddFile(top, "#" + std::to_string(entry), file);
    return;
  }
  const std::span<const std::string_view> components = path.Split(*name);
  NodeId directory = top;
  for (const std::string_view component :
       components.first(components.size() - 1)) {
    directory = builder.MakeDirectory(directory, component);
  }
  builder.AddFile(directory, components.back(), file);
}

}  // namespace

Branch::Branch(std::shared_ptr<const Container> container,
               std::vector<OwnFile> extra)
    : container_(std::move(container)), own_files_(AboutFiles()) {
  for (OwnFile& file : container_->OwnFiles()) {
    own_files_.push_back(std::move(file));
  }
  for (OwnFile& file : extra) own_files_.push_back(std::move(file));
  sub_containers_ = container_->SubContainers();
  derived_ = container_->Derived();

  // Most entries have a derived file where there are any.
  TreeBuilder builder(container_->entry_count() * (derived_.empty() ? 1 : 2));
  AddEntries(builder);
  // Own files come when every entry has its name: they never take one.
  builder.Settle();
  AddOwn(builder);
  tree_ = std::move(builder).Build();

  for (uint32_t entry = 0; entry < container_->entry_count(); ++entry) {
    const std::optional<uint64_t> sum =
        CheckedAdd(total_size_, container_->EntrySize(entry));
    total_size_ = sum.value_or(UINT64_MAX);
  }
}

std::vector<OwnFile> Branch::AboutFiles() const {
  return {
      {".ctxfs/info.json",
       [this](BlockCache& /*cache*/) -> Result<Content> {
         return LiteralContent(FormatJson(container_->Info()));
       }},
      {".ctxfs/index.json",
       [this](BlockCache& cache) {
         return OpenIndexJson({index_owner_, 0}, *container_, tree_, cache);
       }},
      {".ctxfs/container",
       [this](BlockCache& /*cache*/) -> Result<Content> {
         Content content;
         content.Append(Range{container_->source(), 0, nullptr},
                        container_->source()->size());
         return content;
       }},
  };
}

void Branch::AddEntries(TreeBuilder& builder) const {
  NodeId top = Tree::kRoot;
  if (const std::string_view name = container_->EntryDirectory();
      !name.empty()) {
    top = builder.MakeDirectory(Tree::kRoot, name);
  }
  SafePath path;
  for (uint32_t entry = 0; entry < container_->entry_count(); ++entry) {
    AddNamed(builder, top, path, container_->EntryName(entry), entry, entry);
  }
}

namespace {

/// Finds directories for what is ours. A top-level name that an entry has
/// becomes NAME~2, for everything below it.
class OwnPlaces {
 public:
  explicit OwnPlaces(TreeBuilder& builder) : builder_(builder) {}

  /// The directory `name` at the top, ours alone.
  NodeId Top(std::string_view name) {
    const auto found = tops_.find(name);
    if (found != tops_.end()) return found->second;
    const NodeId made = builder_.MakeDirectory(
        Tree::kRoot, builder_.FreeName(Tree::kRoot, name));
    tops_.emplace(name, made);
    return made;
  }

  /// The directory that `path` lies in, and its last component. Only at the top
  /// is that made free: further down there is nothing but what is ours.
  std::pair<NodeId, std::string> Find(std::string_view path) {
    const std::span<const std::string_view> components = path_.Split(path);
    NodeId directory = Tree::kRoot;
    for (const std::string_view component :
         components.first(components.size() - 1)) {
      directory = directory == Tree::kRoot
                      ? Top(component)
                      : builder_.MakeDirectory(directory, component);
    }
    std::string name(components.back());
    if (directory == Tree::kRoot) name = builder_.FreeName(directory, name);
    return {directory, std::move(name)};
  }

 private:
  TreeBuilder& builder_;
  SafePath path_;
  std::map<std::string, NodeId, std::less<>> tops_;
};

}  // namespace

void Branch::AddOwn(TreeBuilder& builder) {
  OwnPlaces places(builder);
  // Directories first, so that no file has to be moved aside for one.
  for (uint32_t i = 0; i < sub_containers_.size(); ++i) {
    const auto [directory, name] = places.Find(sub_containers_[i].path);
    const NodeId graft =
        builder.MakeDirectory(directory, builder.FreeName(directory, name));
    grafts_.emplace(graft, i);
  }
  const uint32_t entries = container_->entry_count();
  SafePath path;
  for (size_t i = 0; i < derived_.size(); ++i) {
    const DerivedFiles& files = *derived_[i];
    std::optional<NodeId> top;  // no directory for no files
    for (uint32_t entry = 0; entry < entries; ++entry) {
      if (!files.MayHave(entry)) continue;
      if (!top) top = places.Top(files.directory());
      AddNamed(builder, *top, path, container_->EntryName(entry), entry,
               entries * static_cast<FileId>(i + 1) + entry);
    }
  }
  // Those need not keep their names against each other.
  builder.Settle();
  FileId file = FirstOwn();
  for (const OwnFile& own : own_files_) {
    const auto [directory, name] = places.Find(own.path);
    builder.AddFile(directory, name, file++);
  }
}

std::optional<uint32_t> Branch::Graft(NodeId node) const {
  const auto found = grafts_.find(node);
  if (found == grafts_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint32_t> Branch::Entry(NodeId node) const {
  if (tree_.IsDirectory(node)) return std::nullopt;
  const FileId file = tree_.File(node);
  if (file >= container_->entry_count()) return std::nullopt;
  return file;
}

std::optional<Branch::DerivedFile> Branch::Derived(NodeId node) const {
  const FileId file = tree_.File(node);
  const uint32_t entries = container_->entry_count();
  if (file < entries || file >= FirstOwn()) return std::nullopt;
  return DerivedFile{derived_[file / entries - 1].get(), file % entries};
}

const OwnFile& Branch::Own(NodeId node) const {
  return own_files_[tree_.File(node) - FirstOwn()];
}

Result<bool> Branch::Exists(NodeId node, bool listing,
                            BlockCache& cache) const {
  if (tree_.IsDirectory(node) || Entry(node)) return true;
  if (const std::optional<DerivedFile> derived = Derived(node)) {
    return derived->files->Has(derived->entry, listing, cache);
  }
  const OwnFile& own = Own(node);
  return own.exists == nullptr ? Result<bool>(true) : own.exists(cache);
}

bool Branch::IsLocked(NodeId node) const {
  const std::optional<uint32_t> entry = Entry(node);
  return entry && container_->EntryLocked(*entry);
}

bool Branch::IsLive(NodeId node) const {
  return !tree_.IsDirectory(node) && !Entry(node) && !Derived(node) &&
         Own(node).live;
}

Result<Content> Branch::Open(NodeId node, BlockCache& cache) const {
  if (const std::optional<uint32_t> entry = Entry(node)) {
    return container_->OpenEntry(*entry);
  }
  if (const std::optional<DerivedFile> derived = Derived(node)) {
    return derived->files->Open(derived->entry, cache);
  }
  return Own(node).open(cache);
}

bool Branch::SizeIsCheap(NodeId node) const {
  if (Entry(node)) return true;
  if (const std::optional<DerivedFile> derived = Derived(node)) {
    return derived->files->SizeIsCheap(derived->entry);
  }
  return Own(node).size.has_value();
}

Result<uint64_t> Branch::Size(NodeId node, BlockCache& cache) const {
  if (const std::optional<uint32_t> entry = Entry(node)) {
    return container_->EntrySize(*entry);
  }
  if (const std::optional<DerivedFile> derived = Derived(node)) {
    return derived->files->Size(derived->entry, cache);
  }
  if (const std::optional<uint64_t> size = Own(node).size) return *size;
  Result<Content> content = Open(node, cache);
  if (!content) return std::move(content).error();
  return content->size();
}

std::optional<EntryInfo> Branch::Describe(NodeId node) const {
  if (tree_.IsDirectory(node)) return std::nullopt;
  if (const std::optional<uint32_t> entry = Entry(node)) {
    return container_->Describe(*entry);
  }
  if (const std::optional<DerivedFile> derived = Derived(node)) {
    return derived->files->Describe(derived->entry);
  }
  const OwnFile& own = Own(node);
  if (own.describe == nullptr) return std::nullopt;
  return own.describe();
}

}  // namespace ctxfs
