// SPDX-License-Identifier: Apache-2.0
#include "core/tree/branch.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/limits.h"
#include "core/container/unreadable.h"
#include "core/tree/index_json.h"
#include "core/tree/inner.h"
#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

// How many files are added between two questions whether to give up.
constexpr uint32_t kFilesACheck = 16'384;
constexpr std::string_view kMetadata = ".ctxfs/";

Content LiteralContent(std::string text) {
  auto shared = std::make_shared<const std::string>(std::move(text));
  const uint64_t size = shared->size();
  Content content;
  content.Append(Literal{std::move(shared)}, size);
  return content;
}

}  // namespace

Branch::Branch(std::shared_ptr<const Container> container,
               std::vector<OwnFile> extra, std::vector<SubContainer> hanging,
               const TreeLimits& most, const Interrupt& interrupt)
    : container_(std::move(container)),
      status_(Build(extra, std::move(hanging), most, interrupt)) {
  if (status_ || !status_.error().Permanent()) return;
  Clear();
  container_ = UnreadableContainer(container_->source(), status_.error());
  (void)Build(std::move(extra), {}, {}, NeverInterrupted());
}

void Branch::Clear() {
  own_files_.clear();
  derived_.clear();
  sub_containers_.clear();
  grafts_.clear();
  inner_.clear();
  numbered_.clear();
  numbered_at_.clear();
  metadata_.reset();
}

Status Branch::Build(std::vector<OwnFile> extra,
                     std::vector<SubContainer> hanging, const TreeLimits& most,
                     const Interrupt& interrupt) {
  hanging_ = hanging.size();
  if (container_->HasAbout()) own_files_ = AboutFiles();
  for (OwnFile& file : container_->OwnFiles()) {
    own_files_.push_back(std::move(file));
  }
  for (OwnFile& file : extra) own_files_.push_back(std::move(file));
  derived_ = container_->Derived();
  sub_containers_ = container_->SubContainers();
  for (SubContainer& one : hanging) sub_containers_.push_back(std::move(one));
  numbered_ = container_->Numbered();

  uint64_t files = container_->entry_count();
  for (const auto& table : derived_) files += table->count();
  TreeBuilder builder(static_cast<uint32_t>(std::min<uint64_t>(
                          files, 2ULL * container_->entry_count())),
                      most);
  if (Status added = AddEntries(builder, interrupt); !added) return added;
  AddMembers(builder);
  // Own files come when every entry has its name: they never take one.
  builder.Settle();
  if (Status added = AddInner(builder, interrupt); !added) return added;
  if (Status added = AddOwn(builder, interrupt); !added) return added;
  Result<Tree> tree = std::move(builder).Build();
  if (!tree) return std::move(tree).error();
  tree_ = std::move(*tree);

  total_size_ = 0;
  for (uint32_t entry = 0; entry < container_->entry_count(); ++entry) {
    const std::optional<uint64_t> sum =
        CheckedAdd(total_size_, container_->EntrySize(entry));
    total_size_ = sum.value_or(UINT64_MAX);
  }
  return {};
}

std::vector<OwnFile> Branch::AboutFiles() const {
  return {
      {".ctxfs/info.json",
       [this](const ReadContext& context) -> Result<Content> {
         const Json info = container_->Info(context);
         if (Status wanted = context.Check(); !wanted) {
           return std::move(wanted).error();
         }
         return LiteralContent(FormatJson(info));
       },
       /*live=*/container_->InfoMayChange()},
      {".ctxfs/index.json",
       [index = std::make_shared<const IndexJson>(*container_, tree_)](
           const ReadContext& context) { return index->Open(context); }},
      {".ctxfs/container",
       [this](const ReadContext& /*context*/) -> Result<Content> {
         Content content;
         content.Append(Range{container_->source(), 0, nullptr},
                        container_->source()->size());
         return content;
       }},
  };
}

Status Branch::AddEntries(TreeBuilder& builder,
                          const Interrupt& interrupt) const {
  NodeId top = Tree::kRoot;
  if (const std::string_view name = container_->EntryDirectory();
      !name.empty()) {
    top = builder.MakeDirectory(Tree::kRoot, name);
  }
  SafePath path;
  for (uint32_t entry = 0; entry < container_->entry_count() && builder.ok();
       ++entry) {
    if (entry % kFilesACheck == 0) {
      if (Status wanted = interrupt.Check(); !wanted) return wanted;
    }
    const std::optional<std::string> moved = container_->EntryPath(entry);
    const std::optional<std::string_view> name =
        moved ? moved : container_->EntryName(entry);
    if (!name) {
      builder.AddFile(top, "#" + std::to_string(entry), entry);
      continue;
    }
    const std::span<const std::string_view> components = path.Split(*name);
    NodeId directory = top;
    for (const std::string_view component :
         components.first(components.size() - 1)) {
      directory = builder.MakeDirectory(directory, component);
    }
    builder.AddFile(directory, components.back(), entry);
  }
  return {};
}

void Branch::AddMembers(TreeBuilder& builder) {
  SafePath path;
  for (uint32_t i = 0; i < sub_containers_.size(); ++i) {
    if (!sub_containers_[i].among_entries) continue;
    const std::span<const std::string_view> components =
        path.Split(sub_containers_[i].path);
    NodeId above = Tree::kRoot;
    for (const std::string_view component :
         components.first(components.size() - 1)) {
      above = builder.MakeDirectory(above, component);
    }
    NodeId member = builder.MakeDirectory(above, components.back());
    if (grafts_.contains(member)) {
      member = builder.MakeDirectory(
          above, builder.FreeName(above, components.back()));
    }
    grafts_.emplace(member, i);
  }
}

// NAME~dir beside an entry that is a container itself.
Status Branch::AddInner(TreeBuilder& builder, const Interrupt& interrupt) {
  constexpr std::string_view kMark = "~dir";
  if (!container_->EntriesMayBeContainers()) return {};
  SafePath path;
  for (uint32_t entry = 0; entry < container_->entry_count() &&
                           inner_.size() < limits::kInnerContainers;
       ++entry) {
    if (entry % kFilesACheck == 0) {
      if (Status wanted = interrupt.Check(); !wanted) return wanted;
    }
    const std::optional<std::string> moved = container_->EntryPath(entry);
    const std::optional<std::string_view> name =
        moved ? moved : container_->EntryName(entry);
    if (!name || !MayBeContainer(*name) || container_->EntryLocked(entry)) {
      continue;
    }
    NodeId above = Tree::kRoot;
    if (!container_->EntryDirectory().empty()) {
      above = builder.MakeDirectory(above, container_->EntryDirectory());
    }
    const std::span<const std::string_view> components = path.Split(*name);
    for (const std::string_view component :
         components.first(components.size() - 1)) {
      above = builder.MakeDirectory(above, component);
    }
    const std::string marked =
        MarkedComponent(components.back(), kMark, /*before_extension=*/false);
    const NodeId directory =
        builder.MakeDirectory(above, builder.FreeName(above, marked));
    grafts_.emplace(directory, static_cast<uint32_t>(sub_containers_.size()));
    inner_.emplace(directory, entry);
    sub_containers_.push_back(
        {marked, [container = container_, entry](const ReadContext& context) {
           return OpenContainerEntry(*container, entry, context);
         }});
  }
  return {};
}

namespace {

/// Finds directories for what is ours. A top-level name that an entry has
/// becomes NAME~2, for everything below it.
class OwnPlaces {
 public:
  /// `shared`: entries' directories are ours as well.
  OwnPlaces(TreeBuilder& builder, bool shared)
      : builder_(builder), shared_(shared) {}

  /// The directory that `path` lies in, and its last component, which is there
  /// until the next call. Only at the top is that made free: further down there
  /// is nothing but what is ours.
  std::pair<NodeId, std::string_view> Find(std::string_view path) {
    const std::span<const std::string_view> components = path_.Split(path);
    NodeId directory = Tree::kRoot;
    for (const std::string_view component :
         components.first(components.size() - 1)) {
      directory = directory == Tree::kRoot
                      ? Top(component)
                      : builder_.MakeDirectory(directory, component);
    }
    if (directory != Tree::kRoot) return {directory, components.back()};
    free_name_ = builder_.FreeName(directory, components.back());
    return {directory, free_name_};
  }

  /// The directory `name` at the top, entries' or not.
  NodeId Top(std::string_view name) { return Top(name, shared_); }

  /// The directory `name` at the top that has nothing of entries.
  NodeId OursAlone(std::string_view name) { return Top(name, false); }

 private:
  NodeId Top(std::string_view name, bool shared) {
    const auto found = tops_.find(name);
    if (found != tops_.end()) return found->second;
    const NodeId made = builder_.MakeDirectory(
        Tree::kRoot,
        shared ? std::string(name) : builder_.FreeName(Tree::kRoot, name));
    tops_.emplace(name, made);
    return made;
  }

  TreeBuilder& builder_;
  bool shared_;
  SafePath path_;
  std::string free_name_;
  std::map<std::string, NodeId, std::less<>> tops_;
};

}  // namespace

Status Branch::AddOwn(TreeBuilder& builder, const Interrupt& interrupt) {
  OwnPlaces places(builder, container_->NamesEntriesItself());
  // Directories first, so that no file has to be moved aside for one.
  // Containers of the format's, then what hangs here, then inner containers,
  // which have their places.
  const size_t end = sub_containers_.size() - inner_.size();
  const size_t hanging = end - hanging_;
  for (uint32_t i = 0; i < end; ++i) {
    if (sub_containers_[i].among_entries) continue;
    if (i >= hanging) {
      grafts_.emplace(places.OursAlone(sub_containers_[i].path), i);
      continue;
    }
    const auto [directory, name] = places.Find(sub_containers_[i].path);
    const NodeId graft =
        builder.MakeDirectory(directory, builder.FreeName(directory, name));
    grafts_.emplace(graft, i);
  }
  for (const NumberedFiles& files : numbered_) {
    const auto [directory, name] = places.Find(files.path);
    numbered_at_.try_emplace(
        builder.MakeDirectory(directory, builder.FreeName(directory, name)),
        files);
  }
  FileId file = container_->entry_count();
  for (const OwnFile& own : own_files_) {
    const auto [directory, name] = places.Find(own.path);
    builder.AddFile(directory, name, file++);
    if (own.path.starts_with(kMetadata)) metadata_ = places.Top(".ctxfs");
  }
  for (const auto& table : derived_) {
    for (uint32_t i = 0; i < table->count() && builder.ok(); ++i, ++file) {
      if (i % kFilesACheck == 0) {
        if (Status wanted = interrupt.Check(); !wanted) return wanted;
      }
      const std::optional<std::string> path = table->Path(i);
      if (!path) continue;
      const auto [directory, name] = places.Find(*path);
      builder.AddFile(directory, name, file);
    }
  }
  return {};
}

const SubContainer* Branch::Hanging(NodeId directory) const {
  const auto found = grafts_.find(directory);
  return found == grafts_.end() ? nullptr : &sub_containers_[found->second];
}

const Files* Branch::Numbered(NodeId directory) const {
  const auto found = numbered_at_.find(directory);
  return found == numbered_at_.end() ? nullptr : &found->second;
}

uint64_t Branch::NodeCount() const {
  uint64_t count = tree_.node_count();
  for (const NumberedFiles& files : numbered_) count += files.count;
  return count;
}

std::optional<uint32_t> Branch::Entry(NodeId node) const {
  if (tree_.IsDirectory(node)) return std::nullopt;
  const FileId file = tree_.File(node);
  if (file >= container_->entry_count()) return std::nullopt;
  return file;
}

std::optional<Branch::DerivedFile> Branch::Derived(NodeId node) const {
  const uint64_t first =
      uint64_t{container_->entry_count()} + own_files_.size();
  if (tree_.IsDirectory(node) || tree_.File(node) < first) return std::nullopt;
  uint64_t number = tree_.File(node) - first;
  auto table = derived_.begin();
  while (number >= (*table)->count()) number -= (*table++)->count();
  return DerivedFile{table->get(), static_cast<uint32_t>(number)};
}

const OwnFile& Branch::Own(NodeId node) const {
  return own_files_[tree_.File(node) - container_->entry_count()];
}

Result<bool> Branch::Exists(NodeId node, bool listing,
                            const ReadContext& context) const {
  if (tree_.IsDirectory(node)) {
    const auto inner = inner_.find(node);
    if (inner == inner_.end()) {
      unsigned asked = 0;
      return node == Tree::kRoot || HoldsAnything(node, asked, context);
    }
    return IsContainerEntry(*container_, inner->second, listing, context);
  }
  if (Entry(node)) return true;
  if (const std::optional<DerivedFile> file = Derived(node)) {
    return file->table->Exists(file->number, listing, context);
  }
  const OwnFile& own = Own(node);
  return own.exists == nullptr ? Result<bool>(true) : own.exists(context);
}

bool Branch::HoldsAnything(NodeId directory, unsigned& asked,
                           const ReadContext& context) const {
  // A container of a million entries that are no tensors is not read for it.
  constexpr unsigned kMostAsked = 256;
  if (Hanging(directory) != nullptr || Numbered(directory) != nullptr) {
    return true;
  }
  for (uint32_t i = 0; i < tree_.ChildCount(directory); ++i) {
    const NodeId child = tree_.Child(directory, i);
    if (tree_.IsDirectory(child)) {
      if (HoldsAnything(child, asked, context)) return true;
      continue;
    }
    const std::optional<DerivedFile> file = Derived(child);
    if (!file || asked++ == kMostAsked) return true;
    const Result<bool> there =
        file->table->Exists(file->number, /*listing=*/true, context);
    if (!there || *there) return true;
  }
  return false;
}

bool Branch::IsLocked(NodeId node) const {
  const std::optional<uint32_t> entry = Entry(node);
  return entry && container_->EntryLocked(*entry);
}

bool Branch::IsLive(NodeId node) const {
  return !tree_.IsDirectory(node) && !Entry(node) && !Derived(node) &&
         Own(node).live;
}

bool Branch::IsData(NodeId node) const {
  if (Entry(node)) return true;
  const std::optional<DerivedFile> derived = Derived(node);
  const std::string path =
      derived ? derived->table->Path(derived->number).value_or("")
              : Own(node).path;
  return !path.starts_with(kMetadata) && !path.starts_with("views/");
}

Result<Content> Branch::Open(NodeId node, const ReadContext& context) const {
  if (const std::optional<uint32_t> entry = Entry(node)) {
    return container_->OpenEntry(*entry, context);
  }
  if (const std::optional<DerivedFile> file = Derived(node)) {
    return file->table->Open(file->number, context);
  }
  return Own(node).open(context);
}

bool Branch::SizeIsCheap(NodeId node) const {
  if (Entry(node)) return true;
  if (const std::optional<DerivedFile> file = Derived(node)) {
    return file->table->SizeIsCheap(file->number);
  }
  return Own(node).size.has_value();
}

Result<uint64_t> Branch::Size(NodeId node, const ReadContext& context) const {
  if (const std::optional<uint32_t> entry = Entry(node)) {
    return container_->EntrySize(*entry);
  }
  if (const std::optional<DerivedFile> file = Derived(node)) {
    return file->table->Size(file->number, context);
  }
  if (const std::optional<uint64_t> size = Own(node).size) return *size;
  Result<Content> content = Open(node, context);
  if (!content) return std::move(content).error();
  return content->size();
}

std::optional<EntryInfo> Branch::Describe(NodeId node) const {
  if (tree_.IsDirectory(node)) return std::nullopt;
  if (const std::optional<uint32_t> entry = Entry(node)) {
    EntryInfo info = container_->Describe(*entry);
    container_->AddFindings(*entry, info);
    return info;
  }
  if (const std::optional<DerivedFile> file = Derived(node)) {
    return file->table->Describe(file->number);
  }
  const OwnFile& own = Own(node);
  if (own.describe == nullptr) return std::nullopt;
  return own.describe();
}

}  // namespace ctxfs
