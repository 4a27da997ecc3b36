// SPDX-License-Identifier: Apache-2.0
#include "core/tree/entry_places.h"

#include <algorithm>

#include "core/base/heap/heap_allowance.h"
#include "core/container/archive/plain_name.h"

namespace ctxfs {
namespace {

NodeId MakeEntryDirectory(TreeBuilder& builder, const FileTable& entries) {
  const std::string& directory = entries.placement().directory;
  if (directory.empty()) return NameTree::kRoot;
  SafePath path;
  return MakeDirectories(builder, NameTree::kRoot, path.Split(directory));
}

/// `stored` without the trailing part that a directory's path omits.
std::string_view NameOf(const FileFacts& facts, std::string_view stored) {
  return facts.kind == FileKind::kDirectory ? DirectoryName(stored) : stored;
}

/// Like ForEachPath, but only for `files`.
template <typename Act>
Status ForEachPathOf(std::span<const uint32_t> files, const FileTable& table,
                     const Interrupt& interrupt, const Act& act) {
  std::string scratch;
  for (size_t i = 0; i < files.size(); ++i) {
    if (i % kFilesPerCheck == 0) {
      CTXFS_TRY(interrupt.Check());
    }
    const std::optional<std::string_view> path = table.Path(files[i], scratch);
    if (path && !act(files[i], *path)) break;
  }
  return {};
}

}  // namespace

NodeId MakeDirectories(TreeBuilder& builder, NodeId directory,
                       Components components) {
  for (const std::string_view component : components) {
    directory = builder.MakeDirectory(directory, component);
  }
  return directory;
}

EntryPlaces::EntryPlaces(const FileTable& entries, TreeBuilder& builder)
    : entries_(entries), placement_(entries.placement()), builder_(builder) {}

FileFacts EntryPlaces::FactsOf(uint32_t entry) const {
  return placement_.has_kinds ? entries_.Facts(entry) : FileFacts();
}

bool EntryPlaces::Put(uint32_t entry, const FileFacts& facts,
                      Components components) {
  if (facts.kind == FileKind::kDirectory) {
    directories_.insert_or_assign(MakeDirectories(builder_, top_, components),
                                  entry);
  } else {
    builder_.AddFile(
        MakeDirectories(builder_, top_, AllButLast(components)),
        components.back(), entry, placement_.last_keeps_name,
        facts.kind == FileKind::kLink ? NodeType::kLink : NodeType::kFile);
  }
  if (!facts.original) return builder_.ok();
  if (!AdmitGrowth(hard_links_)) return false;
  hard_links_.push_back({entry, *facts.original});
  return builder_.ok();
}

Result<std::vector<uint32_t>> EntryPlaces::AddPlain(
    const Interrupt& interrupt) {
  std::vector<uint32_t> odd;
  const auto add = [&](uint32_t entry, std::string_view stored) {
    const FileFacts facts = FactsOf(entry);
    if (!placement_.plain_paths) return Put(entry, facts, path_.Split(stored));
    const std::string_view name = NameOf(facts, stored);
    if (name.empty() && !stored.empty()) return true;  // the root itself
    if (!HasPlainPath(name)) return Put(entry, facts, path_.Split(name));
    if (!AdmitGrowth(odd)) return false;
    odd.push_back(entry);
    return true;
  };
  CTXFS_TRY(ForEachPath(entries_, interrupt, add));
  return odd;
}

bool EntryPlaces::AddAtPlainPath(uint32_t entry, std::string_view name) {
  const FileFacts facts = FactsOf(entry);
  const Components components = path_.SplitPlain(NameOf(facts, name));
  const NodeId above = MakeDirectories(builder_, top_, AllButLast(components));
  const auto there = builder_.TypeAt(above, components.back());
  const bool free = !there || (facts.kind == FileKind::kDirectory &&
                               *there == NodeType::kDirectory);
  if (free) Put(entry, facts, components);
  return free;
}

Status EntryPlaces::Add(const Interrupt& interrupt) {
  top_ = MakeEntryDirectory(builder_, entries_);
  std::vector<uint32_t> odd = CTXFS_TRY(AddPlain(interrupt));
  if (odd.empty()) return {};
  // Creates directories first, so that they keep their paths, whatever the
  // order of the entries.
  CTXFS_TRY(ForEachPathOf(
      odd, entries_, interrupt, [&](uint32_t entry, std::string_view stored) {
        const std::string_view name = NameOf(FactsOf(entry), stored);
        MakeDirectories(builder_, top_, AllButLast(path_.SplitPlain(name)));
        return builder_.ok();
      }));
  if (placement_.last_keeps_name) std::reverse(odd.begin(), odd.end());
  std::stable_partition(odd.begin(), odd.end(), [&](uint32_t entry) {
    return FactsOf(entry).kind == FileKind::kDirectory;
  });
  CTXFS_TRY(ForEachPathOf(odd, entries_, interrupt,
                          [&](uint32_t entry, std::string_view name) {
                            if (!AddAtPlainPath(entry, name)) {
                              if (!AdmitGrowth(denied_)) return false;
                              denied_.push_back(entry);
                            }
                            return builder_.ok();
                          }));
  std::sort(denied_.begin(), denied_.end());
  return ForEachPathOf(
      denied_, entries_, interrupt, [&](uint32_t entry, std::string_view name) {
        const FileFacts facts = FactsOf(entry);
        return Put(entry, facts, path_.Split(NameOf(facts, name)));
      });
}

Components EntryPlaces::PathOf(uint32_t entry, std::string_view name) {
  if (!placement_.plain_paths ||
      std::binary_search(denied_.begin(), denied_.end(), entry)) {
    return path_.Split(name);
  }
  return path_.SplitPlain(name);
}

}  // namespace ctxfs
