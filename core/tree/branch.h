// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"
#include "core/tree/numbered.h"
#include "core/tree/tree.h"

namespace ctxfs {

/// One container as a tree of files: its entries under their safe names, the
/// files of its format, and the `.ctxfs` directory (docs/tree.md, section 2).
/// Immutable.
class Branch {
 public:
  /// `extra` are further own files, for whoever mounts the container.
  explicit Branch(std::shared_ptr<const Container> container,
                  std::vector<OwnFile> extra = {});

  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  const Tree& tree() const { return tree_; }
  const Container& container() const { return *container_; }

  /// The entry at a node, or nothing for directories and own files.
  std::optional<uint32_t> Entry(NodeId node) const;

  /// The container that a directory is, as an index into sub_containers().
  std::optional<uint32_t> Graft(NodeId node) const;
  const std::vector<SubContainer>& sub_containers() const {
    return sub_containers_;
  }

  /// The numbered files that a directory holds; null for any other node. They
  /// are no nodes of tree(): the directory is empty there.
  const NumberedDirectory* Numbered(NodeId node) const;
  const std::vector<NumberedFiles>& numbered() const { return numbered_; }

  /// What is known of a file, or nothing for a file of no interest.
  std::optional<EntryInfo> Describe(NodeId node) const;

  /// Whether a file cannot be read for want of a key.
  bool IsLocked(NodeId node) const;

  /// Whether a file's bytes may differ from one open to the next.
  bool IsLive(NodeId node) const;

  /// Whether what has a name is there: see DerivedFiles::Exists.
  Result<bool> Exists(NodeId node, bool listing, BlockCache& cache) const;

  /// Bytes of a file. Known at once for entries; an own file may have to be
  /// made to be measured, so ask at look-up and not for a listing.
  Result<uint64_t> Size(NodeId node, BlockCache& cache) const;
  /// Whether Size takes a small read at the most. Not for directories.
  bool SizeIsCheap(NodeId node) const;

  Result<Content> Open(NodeId node, BlockCache& cache) const;

  /// The sum of the entries' decoded sizes in bytes.
  uint64_t TotalSize() const { return total_size_; }

 private:
  /// A file of a table.
  struct DerivedFile {
    const DerivedFiles* table;
    uint32_t number;
  };

  std::vector<OwnFile> AboutFiles() const;
  std::optional<DerivedFile> Derived(NodeId node) const;
  const OwnFile& Own(NodeId node) const;
  void AddEntries(TreeBuilder& builder) const;
  void AddMembers(TreeBuilder& builder);
  void AddOwn(TreeBuilder& builder);

  std::shared_ptr<const Container> container_;
  // File numbers: the entries', then own files', then those of each table.
  std::vector<OwnFile> own_files_;
  std::vector<std::shared_ptr<const DerivedFiles>> derived_;
  std::vector<SubContainer> sub_containers_;
  std::unordered_map<NodeId, uint32_t> grafts_;  // directory -> sub-container
  std::vector<NumberedFiles> numbered_;
  std::unordered_map<NodeId, NumberedDirectory> numbered_at_;
  uint64_t index_owner_ = NewOwner();
  uint64_t total_size_ = 0;
  Tree tree_;
};

}  // namespace ctxfs
