// SPDX-License-Identifier: Apache-2.0
#include "core/tree/branch.h"

#include <map>

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

}  // namespace

Branch::Branch(std::shared_ptr<const Container> container,
               std::vector<OwnFile> extra)
    : container_(std::move(container)), own_files_(AboutFiles()) {
  for (OwnFile& file : container_->OwnFiles()) {
    own_files_.push_back(std::move(file));
  }
  for (OwnFile& file : extra) own_files_.push_back(std::move(file));

  TreeBuilder builder(container_->entry_count());
  AddEntries(builder);
  // Own files come when every entry has its name: they never take one.
  builder.Settle();
  AddOwnFiles(builder);
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
  SafePath path;
  for (uint32_t entry = 0; entry < container_->entry_count(); ++entry) {
    const std::optional<std::string_view> name = container_->EntryName(entry);
    if (!name) {
      builder.AddFile(Tree::kRoot, "#" + std::to_string(entry), entry);
      continue;
    }
    const std::span<const std::string_view> components = path.Split(*name);
    NodeId directory = Tree::kRoot;
    for (const std::string_view component :
         components.first(components.size() - 1)) {
      directory = builder.MakeDirectory(directory, component);
    }
    builder.AddFile(directory, components.back(), entry);
  }
}

void Branch::AddOwnFiles(TreeBuilder& builder) const {
  // A top-level name of ours that an entry has becomes NAME~2, for all of the
  // files below it.
  std::map<std::string, NodeId, std::less<>> tops;
  FileId file = container_->entry_count();
  for (const OwnFile& own : own_files_) {
    std::string_view rest = own.path;
    NodeId directory = Tree::kRoot;
    for (size_t slash = rest.find('/'); slash != std::string_view::npos;
         slash = rest.find('/')) {
      const std::string_view component = rest.substr(0, slash);
      rest.remove_prefix(slash + 1);
      if (directory != Tree::kRoot) {
        directory = builder.MakeDirectory(directory, component);
        continue;
      }
      auto top = tops.find(component);
      if (top == tops.end()) {
        const std::string name = builder.FreeName(Tree::kRoot, component);
        top = tops.emplace(component, builder.MakeDirectory(Tree::kRoot, name))
                  .first;
      }
      directory = top->second;
    }
    builder.AddFile(directory, builder.FreeName(directory, rest), file++);
  }
}

std::optional<uint32_t> Branch::Entry(NodeId node) const {
  if (tree_.IsDirectory(node)) return std::nullopt;
  const FileId file = tree_.File(node);
  if (file >= container_->entry_count()) return std::nullopt;
  return file;
}

const OwnFile& Branch::Own(NodeId node) const {
  return own_files_[tree_.File(node) - container_->entry_count()];
}

bool Branch::IsLive(NodeId node) const {
  return !tree_.IsDirectory(node) && !Entry(node) && Own(node).live;
}

Result<Content> Branch::Open(NodeId node, BlockCache& cache) const {
  if (const std::optional<uint32_t> entry = Entry(node)) {
    return container_->OpenEntry(*entry);
  }
  return Own(node).open(cache);
}

Result<uint64_t> Branch::Size(NodeId node, BlockCache& cache) const {
  if (const std::optional<uint32_t> entry = Entry(node)) {
    return container_->EntrySize(*entry);
  }
  Result<Content> content = Open(node, cache);
  if (!content) return std::move(content).error();
  return content->size();
}

}  // namespace ctxfs
