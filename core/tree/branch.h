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
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/tree/numbered.h"
#include "core/tree/tree_files.h"

namespace ctxfs {

/// One container as a tree of files: its entries under their safe names, the
/// files of its format, and the `.ctxfs` directory (docs/tree.md, section 2).
/// One of too many names becomes one that cannot be read. Immutable.
class Branch final : public TreeFiles {
 public:
  /// `extra` are further own files, for whoever mounts the container, and
  /// `hanging` directories at its root, which own files may lie in as well.
  explicit Branch(std::shared_ptr<const Container> container,
                  std::vector<OwnFile> extra = {},
                  std::vector<SubContainer> hanging = {},
                  const TreeLimits& most = {},
                  const Interrupt& interrupt = NeverInterrupted());

  /// kLimit when the container had too many names, kInterrupted when building
  /// was; a tree that is incomplete for that must not be used.
  const Status& status() const { return status_; }

  const std::shared_ptr<const Container>& shared_container() const {
    return container_;
  }
  const Container& container() const { return *container_; }

  const SubContainer* Hanging(NodeId directory) const override;
  const Files* Numbered(NodeId directory) const override;
  bool IsMetadata(NodeId directory) const override {
    return directory == metadata_;
  }
  Result<bool> Exists(NodeId node, bool listing,
                      const ReadContext& context) const override;
  Result<uint64_t> Size(NodeId file, const ReadContext& context) const override;
  bool SizeIsCheap(NodeId file) const override;
  bool IsLocked(NodeId file) const override;
  bool IsLive(NodeId file) const override;
  Result<Content> Open(NodeId file, const ReadContext& context) const override;
  std::optional<EntryInfo> Describe(NodeId file) const override;
  std::optional<uint32_t> Entry(NodeId file) const override;

  /// Whether a file is what the container holds, and not what is told of it or
  /// made of it for others: what the format puts into `.ctxfs` and `views`.
  bool IsData(NodeId file) const;

  const std::vector<SubContainer>& sub_containers() const {
    return sub_containers_;
  }
  /// Files and directories, those in numbered directories among them.
  uint64_t NodeCount() const;
  /// The sum of the entries' decoded sizes in bytes.
  uint64_t TotalSize() const { return total_size_; }

 private:
  /// A file of a table.
  struct DerivedFile {
    const DerivedFiles* table;
    uint32_t number;
  };

  Status Build(std::vector<OwnFile> extra, std::vector<SubContainer> hanging,
               const TreeLimits& most, const Interrupt& interrupt);
  /// Takes back what Build did, for another container.
  void Clear();
  std::vector<OwnFile> AboutFiles() const;
  /// Whether a listing of `directory`, or of one below, would show anything.
  /// `asked` counts the files that had to be asked whether they are there.
  bool HoldsAnything(NodeId directory, unsigned& asked,
                     const ReadContext& context) const;
  std::optional<DerivedFile> Derived(NodeId node) const;
  const OwnFile& Own(NodeId node) const;
  Status AddEntries(TreeBuilder& builder, const Interrupt& interrupt) const;
  void AddMembers(TreeBuilder& builder);
  Status AddInner(TreeBuilder& builder, const Interrupt& interrupt);
  Status AddOwn(TreeBuilder& builder, const Interrupt& interrupt);

  std::shared_ptr<const Container> container_;
  // File numbers: the entries', then own files', then those of each table.
  std::vector<OwnFile> own_files_;
  std::vector<std::shared_ptr<const DerivedFiles>> derived_;
  std::vector<SubContainer> sub_containers_;     // see AddOwn
  size_t hanging_ = 0;                           // of them, for whoever mounts
  std::unordered_map<NodeId, uint32_t> grafts_;  // directory -> sub-container
  std::unordered_map<NodeId, uint32_t> inner_;   // directory -> entry
  std::vector<NumberedFiles> numbered_;
  std::unordered_map<NodeId, NumberedDirectory> numbered_at_;
  std::optional<NodeId> metadata_;
  uint64_t total_size_ = 0;
  Status status_;
};

}  // namespace ctxfs
