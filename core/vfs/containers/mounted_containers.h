// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/content/verdict.h"
#include "core/vfs/containers/admission.h"
#include "core/vfs/containers/container_source.h"

namespace ctxfs {

/// The containers and numbered directories that are attached to directories of
/// a mount. A container is opened when a request first needs it. The least
/// recently used containers are closed when too many are open, or when they
/// take too much memory; the next request reopens the container, with the same
/// nodes. No lock is held while a container opens: requests for the same
/// container wait for the thread that opens it, all others go on. Safe for any
/// number of threads.
///
/// Invariants under mutex_:
///  - slots_ and by_place_ have the same slots, except that kTop is in
///    slots_ alone.
///  - used_ has each slot with an open tree exactly once, except kTop.
///  - bytes_ is the sum of the bytes of the open trees.
///  - A slot nested in another is in the `attached` of the outer one.
class MountedContainers : private Admission::OpenTrees {
 public:
  using Number = uint32_t;  // below 2^31
  static constexpr Number kTop =
      0;  // the mount's only container, if it has one
  /// Bits of an inode for the node; the bits above are the tree's number.
  static constexpr unsigned kNodeBits = 32;
  /// Maximum number of directories in numbered directories that have a Number
  /// at a time. Inodes in a directory that has lost its Number are stale: the
  /// kernel looks up their paths again.
  static constexpr size_t kMaxNumbered = 65'536;

  /// Get and Opened lend a tree: the container is not evicted until every
  /// borrower has released it.
  using Tree = Admission::Tree;
  using Budget = Admission::Budget;
  using ContainerResult = Result<std::shared_ptr<const Container>>;

  enum class Kind : uint8_t {
    kStored,  // a container that is a file (or a directory) of the file system
    kNested,  // a container within a container, or beside it
    kNumbered,  // the numbered files of a container; they cost no memory
  };

  /// An attached container and its place.
  struct Attachment {
    Inode at;  // the directory
    Kind kind = Kind::kStored;
    Number within = 0;              // of the tree that `at` is a node of
    NodeId node = FileTree::kRoot;  // that node; kStored ignores both
  };

  /// Opens or reopens the container at `attachment`. `outer` is the tree that
  /// it is nested in; null for a stored container. Fails only on transient
  /// errors or if the file has disappeared (kStale): a damaged container opens
  /// as an unreadable one.
  using Open = std::function<ContainerResult(const Attachment& attachment,
                                             const ContainerSource* outer,
                                             const ReadContext& context)>;
  using Reopen = std::function<ContainerResult(const ReadContext& context)>;

  /// Returns a container's views, attached besides its nested containers.
  using Extras = std::function<std::vector<ChildContainer>(
      const std::shared_ptr<const Container>&)>;

  /// Null `extras` adds nothing. `rules` must outlive all trees.
  MountedContainers(const MountRules& rules, const Budget& budget, Open open,
                    Extras extras);

  /// Attaches the mount's only container, which stays open. `base`: see
  /// FileTreeSource. `own` are further tables of the tree.
  void AttachTop(Inode at, Inode base,
                 const std::shared_ptr<const Container>& container,
                 ContainerTree::Tables own);
  /// Holds kLimit if the container has more files than fit into memory.
  const Status& top_status() const { return top_status_; }

  /// Attaches a container and returns its number. If a container is attached at
  /// that place already, returns the number of that one. The number is a hash
  /// of the place: every mount computes the same one unless two places collide,
  /// with a chance of one in two billion.
  Number Attach(const Attachment& attachment);

  /// The tree, opened if it is closed; kStale if it was detached or lost.
  Result<Tree> Get(Number number, const ReadContext& context);

  /// The tree of a container if that is open; else null.
  Tree Opened(Number number) const;

  std::optional<Number> NumberAt(Inode at) const;
  std::optional<Attachment> AttachmentOf(Number number) const;
  /// `number` and the containers that it is in, outermost first.
  std::vector<Number> Chain(Number number) const;

  /// Reopens the container `old`, by `reopen` or, if that is null, by Open, and
  /// closes everything nested in it. Does nothing if `old` was closed or
  /// replaced meanwhile. Fails with kStale if the bytes now belong to another
  /// container. In that case, if `lose` is set, `number` is also marked as lost
  /// (see Lose).
  Status Renew(Number number, const Tree& old, const Reopen& reopen, bool lose,
               const ReadContext& context);

  /// Marks a container as lost: another one, with other nodes, has replaced it.
  /// Opening it fails with kStale until it is detached.
  void Lose(Number number);
  bool IsLost(Number number) const;

  std::optional<uint64_t> CloseOldest() override;

  /// Detaches the container at `at`, and everything nested in it.
  void Detach(Inode at);

  struct Totals {
    uint64_t containers = 0;
    uint64_t files = 0;   // primary ones
    uint64_t bytes = 0;   // of primary files, decoded
    uint64_t memory = 0;  // counted against Budget::bytes
  };
  Totals Sum() const;

 private:
  /// Identifies an opening of a container.
  struct Opening {
    std::optional<uint64_t> digest;
    uint64_t nodes = 0;
    FileTime ctime;
    bool refused = false;  // needs more memory than index=
  };

  struct Slot {
    // Immutable.
    Attachment attachment;
    Number number = 0;
    Inode base = 0;
    ContainerTree::Tables own = {};
    std::shared_ptr<Slot> outer = nullptr;  // its tree has `attachment.at`
    // Under mutex_.
    std::set<Number> attached = {};                  // in the tree of this slot
    Tree tree = nullptr;                             // null: closed
    std::weak_ptr<const ContainerSource> lent = {};  // expired: nobody uses it
    std::list<Slot*>::iterator used =
        {};  // set if `tree` is not null, except for kTop
    std::optional<Opening> opened_as = std::nullopt;  // of the latest opening
    bool lost = false;  // another container has replaced it
    // Has its own lock.
    std::shared_ptr<PageLedger> pages = std::make_shared<PageLedger>();
  };
  using Trees = std::vector<Tree>;
  using NewTree = std::shared_ptr<ContainerSource>;  // not shared yet

  std::shared_ptr<Slot> Find(Number number) const;
  /// Marks the slot as used and returns its tree; null if it is closed.
  Tree Use(Slot& slot);
  Tree Lend(Slot& slot) const CTXFS_REQUIRES(mutex_);
  void MarkUsed(Slot* slot) CTXFS_REQUIRES(mutex_);

  /// The tree that has the slot's directory as a node.
  Result<Tree> OuterOf(const Slot& slot, const ReadContext& context);
  NewTree TreeAt(const Slot& slot, Tree outer) const;
  Result<Tree> OpenOnce(const std::shared_ptr<Slot>& slot, const Tree& outer,
                        const ReadContext& context);
  /// Opens the container, once admitted, in place of `old`, which may be null.
  Status OpenSlot(const Slot& slot, const Tree& outer, const Tree& old,
                  const Reopen& reopen, const Admission::Keep& keep,
                  const ReadContext& context);
  Result<Tree> OpenWithin(const Slot& slot, const Tree& outer,
                          const Reopen& open, const HeapAllowance& allowance,
                          const ReadContext& context);
  ContainerResult OpenContainer(const Reopen& open, const ReadContext& context);
  Result<NewTree> MakeTree(const Slot& slot, const Tree& outer,
                           const std::shared_ptr<const Container>& container,
                           const Interrupt& interrupt);

  /// Keeps `tree` open, unless the slot was detached or another thread has
  /// opened it meanwhile; returns the tree to use. kStale if it is lost.
  Result<Tree> Keep(const std::shared_ptr<Slot>& slot, Tree tree);
  /// Records the opening of `tree`. Fails with kStale if the slot's nodes
  /// belong to another container than `tree`; if `lose` is set, the slot is
  /// then lost.
  Status Accept(Slot& slot, const ContainerSource& tree, bool lose,
                Trees& closed) CTXFS_REQUIRES(mutex_);
  static bool IsAnother(const Slot& slot, const Opening& now);
  Admission::Before Before(const Slot& slot) const;

  uint64_t BytesBut(const Tree& old) const override;
  uint64_t BytesBesidesTop() const override;
  /// Closes unused containers until the open ones fit into the budget.
  void KeepBudget();
  bool CloseOne(Trees& closed) CTXFS_REQUIRES(mutex_);
  void Close(Slot& slot, Trees& closed) CTXFS_REQUIRES(mutex_);
  /// Closes the containers nested in the slot; the next request reopens them.
  void RenewInside(const Slot& slot, Trees& closed) CTXFS_REQUIRES(mutex_);
  void DetachOne(Number number, Trees& closed) CTXFS_REQUIRES(mutex_);
  /// Adds a directory in a numbered directory to numbered_. Detaches the oldest
  /// one if there are more than kMaxNumbered.
  void AddNumbered(Number number, Trees& closed) CTXFS_REQUIRES(mutex_);

  const MountRules& rules_;
  const Budget budget_;
  const Open open_;
  const Extras extras_;
  const uint64_t scope_ = NewOwner();  // scope of the keys of openings

  Status top_status_;  // set before the first request

  mutable Mutex mutex_;
  std::unordered_map<Number, std::shared_ptr<Slot>> slots_
      CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<Inode, Number> by_place_ CTXFS_GUARDED_BY(mutex_);
  /// Directories in numbered directories, the oldest first. Some may be
  /// detached.
  std::deque<Number> numbered_ CTXFS_GUARDED_BY(mutex_);
  /// The open slots except kTop, most recently used first. A container precedes
  /// the ones nested in it, so that they are evicted before it.
  std::list<Slot*> used_ CTXFS_GUARDED_BY(mutex_);
  uint64_t bytes_ CTXFS_GUARDED_BY(mutex_) = 0;  // of all trees

  /// Notified when a tree is closed or released; borrowers may outlive this
  /// object.
  const std::shared_ptr<CondVar> room_ = std::make_shared<CondVar>();
  Admission admission_{budget_, *this, *room_};
};

}  // namespace ctxfs
