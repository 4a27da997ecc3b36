// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/container/file_table.h"
#include "core/tree/name_tree.h"
#include "core/tree/safe_name.h"

namespace ctxfs {

using Components = std::span<const std::string_view>;

inline Components AllButLast(Components components) {
  return components.first(components.size() - 1);
}

/// Files added between two checks for an interrupt.
constexpr uint32_t kFilesPerCheck = 16'384;

/// Calls `act` with the number and path of each file of a table that has a
/// path, until `act` returns false. Fails only if interrupted.
template <typename Act>
Status ForEachPath(const FileTable& table, const Interrupt& interrupt,
                   const Act& act) {
  std::string scratch;
  for (uint32_t i = 0; i < table.count(); ++i) {
    if (i % kFilesPerCheck == 0) {
      CTXFS_TRY(interrupt.Check());
    }
    const std::optional<std::string_view> path = table.Path(i, scratch);
    if (path && !act(i, *path)) break;
  }
  return {};
}

/// Creates the directories `components` below `directory`; returns the last.
NodeId MakeDirectories(TreeBuilder& builder, NodeId directory,
                       Components components);

/// Adds the entries of a container to its tree, each at its path (docs/tree.md,
/// section 7).
class EntryPlaces {
 public:
  /// An entry that is another name of the file `original`.
  struct HardLinkEntry {
    uint32_t entry;
    uint32_t original;
  };

  /// `entries` and `builder` must outlive this object.
  EntryPlaces(const FileTable& entries, TreeBuilder& builder);

  /// Adds all entries. Must be called once. Fails only if interrupted: the
  /// builder reports an exceeded limit or refused memory.
  Status Add(const Interrupt& interrupt);

  /// The path that Add assigned to a file, without marks such as "~2". `name`
  /// is FileTable::Path. Valid until the next call.
  Components PathOf(uint32_t entry, std::string_view name);

  /// For each directory that is an entry, the last such entry.
  std::unordered_map<NodeId, uint32_t>& directories() { return directories_; }
  const std::vector<HardLinkEntry>& hard_links() const { return hard_links_; }

 private:
  FileFacts FactsOf(uint32_t entry) const;
  /// Adds all entries, except those that should have a plain path other than
  /// their name. Returns these.
  Result<std::vector<uint32_t>> AddPlain(const Interrupt& interrupt);
  /// Adds an entry that AddPlain returned, at its plain path. Returns false if
  /// another entry has that path, unless both are directories.
  bool AddAtPlainPath(uint32_t entry, std::string_view name);
  /// Adds an entry at `components`. Returns false if a limit was exceeded or
  /// memory was refused, so that no more entries can be added.
  bool Put(uint32_t entry, const FileFacts& facts, Components components);

  const FileTable& entries_;
  const Placement& placement_;
  TreeBuilder& builder_;
  NodeId top_ = NameTree::kRoot;  // the common directory of all entries
  SafePath path_;
  std::unordered_map<NodeId, uint32_t> directories_;
  std::vector<HardLinkEntry> hard_links_;
  std::vector<uint32_t> denied_;  // entries whose plain paths are taken
};

}  // namespace ctxfs
