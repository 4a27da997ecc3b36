// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/file_table.h"
#include "core/container/interfaces/paths_in_parts.h"
#include "core/content/read_context.h"
#include "core/tree/entry_places.h"
#include "core/tree/fault_ledger.h"
#include "core/tree/file_tree.h"
#include "core/tree/kept_sizes.h"
#include "core/tree/numbered_directory.h"

namespace ctxfs {

/// The tree of one container: the files of its tables under safe names, its
/// child containers as directories, and, unless it is a part
/// (Container::is_part), the directory `.ctxfs` (docs/tree.md, section 5). A
/// container with too many names or files becomes an unreadable one. Immutable.
class ContainerTree final : public TreeFiles, private PathsInParts {
 public:
  using Tables = Container::Tables;

  /// `extra` tables and `attached` containers are shown in addition to the
  /// container's own.
  explicit ContainerTree(std::shared_ptr<const Container> container,
                         Tables extra = {},
                         std::vector<ChildContainer> attached = {},
                         const TreeLimits& most = {},
                         const Interrupt& interrupt = NeverInterrupted());

  /// Fails with kLimit if the container had too many names or files, with
  /// kInterrupted, or with the error of HeapAllowance if memory was refused.
  const Status& status() const { return status_; }

  const Container& container() const { return *container_; }
  /// The table of the entries that are not numbered; empty if there are none.
  const std::shared_ptr<const FileTable>& entries() const {
    return tables_.front();
  }

  File At(NodeId file) const override;
  /// A size that is not in the index is computed once and kept, except for
  /// views and live documents.
  Result<uint64_t> Size(NodeId file, const ReadContext& context) const override;
  Cost SizeCost(NodeId file) const override;
  bool ShowsContainer(NodeId directory) const override {
    return child_at_.contains(directory);
  }
  std::optional<ChildContainer> NestedAt(NodeId directory) const override;
  const NumberedDirectory* Numbered(NodeId directory) const override;
  /// The nodes of all directories of numbered files, in ascending order.
  std::vector<NodeId> NumberedDirectories() const;
  std::optional<NodeId> Aside(Role role) const override;
  std::optional<uint32_t> DirectoryCount(NodeId directory) const override;
  NodeId FirstName(NodeId node) const override;
  uint32_t NameCount(NodeId node) const override;
  std::string LinkTarget(NodeId link) const override;
  /// Returns the node of views/ if `directory` is below it and another
  /// container is attached to views/; else nullopt. That container may have a
  /// directory of the same path, whose files appear in `directory`, too.
  std::optional<NodeId> SharedViewsAbove(NodeId directory) const;

  /// The entry of a file; nullopt for directories, and for files that are no
  /// entries.
  std::optional<uint32_t> Entry(NodeId node) const;
  /// The nodes of entries [first, end); the root for an entry without a file.
  /// Takes time in proportion to all names.
  std::vector<NodeId> NodesOf(uint32_t first, uint32_t end) const;
  /// Whether a file contains stored data: it is neither a view nor metadata.
  bool IsData(NodeId file) const;

  /// The faults found by reading the files.
  FaultLedger& faults() const { return *faults_; }

  const std::vector<ChildContainer>& sub_containers() const {
    return children_;
  }
  /// Files and directories, including those in numbered directories.
  uint64_t NodeCount() const;
  /// Number of primary files (docs/tree.md, section 3); hard links count once.
  uint64_t PrimaryFiles() const { return primary_files_; }
  /// The sum of the sizes of primary files, in bytes. A size counts if it is in
  /// the index or the file was measured.
  uint64_t TotalSize() const;
  /// Whether the index has the sizes of all primary files.
  bool KnowsTotalSize() const { return knows_total_size_; }
  /// The primary files whose sizes are still unknown.
  std::vector<NodeId> UnmeasuredFiles() const;

 private:
  class Places;

  /// One of several names of a file.
  struct HardLink {
    NodeId node;
    NodeId first;
    uint32_t names;  // of the file
  };

  Status Build(const Tables& extra, std::vector<ChildContainer> attached,
               const TreeLimits& most, const Interrupt& interrupt);
  Tables MetadataTables() const;
  Status NumberFiles();
  void AddMembers(TreeBuilder& builder);
  Status AddOthers(TreeBuilder& builder, EntryPlaces& of_entries,
                   const Interrupt& interrupt);
  Status AddNested(TreeBuilder& builder, Places& places,
                   EntryPlaces& of_entries, const Interrupt& interrupt);
  Status FindHardLinks(const std::vector<EntryPlaces::HardLinkEntry>& links);
  const HardLink* HardLinkAt(NodeId node) const;
  Status CountPrimary();
  void CountNumbered();

  std::vector<std::string> Of(uint32_t first, uint32_t end) const override;
  std::string OfNumbered(std::string_view directory) const override;
  std::vector<std::string> InPart(
      const std::shared_ptr<const Container>& part) const override;

  StoredAttributes StoredAttributesOfDirectory(NodeId directory) const override;
  Result<bool> DirectoryExists(NodeId directory, Cost most,
                               const ReadContext& context) const override;
  bool IsInViews(NodeId directory) const;
  /// Whether the entry of a directory of nested_ is a container.
  Result<bool> IsNested(NodeId directory, Cost most,
                        const ReadContext& context) const;
  /// Returns whether `directory` or a directory below it has anything to list.
  /// `asked` counts the files that had to be examined for that. Returns true
  /// also if an examination fails, or too many are needed.
  bool HoldsAnything(NodeId directory, unsigned& asked,
                     const ReadContext& context) const;

  std::shared_ptr<const Container> container_;
  Tables tables_;  // the entries' table first
  // File numbers of the tree run through all tables: tables_[i] starts at
  // starts_[i]. Files in numbered directories have no such number.
  std::vector<FileId> starts_;
  std::vector<ChildContainer> children_;           // nested ones last
  std::unordered_map<NodeId, uint32_t> child_at_;  // directory -> child
  std::unordered_map<NodeId, uint32_t> nested_;    // directory -> entry
  std::unordered_map<NodeId, NumberedDirectory> numbered_at_;
  std::unordered_map<NodeId, uint32_t> explicit_;  // directory -> last entry
  std::vector<HardLink> hard_links_;               // by node
  bool may_lack_ = false;  // some directories outside of views may not exist
  std::optional<NodeId> views_;
  std::optional<NodeId> metadata_;
  const std::shared_ptr<FaultLedger> faults_ = std::make_shared<FaultLedger>();
  uint64_t primary_files_ = 0;
  uint64_t known_size_ = 0;  // sum of the sizes in the index
  bool knows_total_size_ = true;
  KeptSizes sizes_;  // sizes that are not in the index
  Status status_;
};

}  // namespace ctxfs
