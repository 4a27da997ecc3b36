// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/tree/branch.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

/// Remembers which files of a container were opened since it was renewed: the
/// kernel's pages of all others may be of its earlier bytes.
class PageLedger {
 public:
  void Renew();
  /// Whether the pages that the kernel has of a file are good, and of how many
  /// renewals that was said.
  struct Verdict {
    bool good = false;
    uint64_t renewals = 0;
  };
  Verdict Of(NodeId file) const;
  /// Notes that the kernel has opened a file and dropped its pages if `verdict`
  /// said so.
  void NoteOpened(NodeId file, const Verdict& verdict);

 private:
  uint64_t renewals_ = 0;  // while there was none, all pages are good
  std::unordered_set<NodeId> opened_;
};

/// The containers that hang in a mount, by number. One is opened when someone
/// first looks inside, and those not used for longest are closed again when
/// there are too many; what is looked at next opens it anew, with the same
/// nodes. Safe for any number of threads.
class Grafts {
 public:
  using Number = uint32_t;  // below 2^31, never 0
  /// Opens a container, anew at each call. Fails only on transient errors or
  /// when the source has disappeared (kStale). Permanent damage opens as an
  /// unreadable container.
  using Opener = std::function<Result<std::shared_ptr<const Container>>(
      const ReadContext&)>;

  /// What hangs in a container besides its own: see Branch.
  using Hang = std::function<std::vector<SubContainer>(
      const std::shared_ptr<const Container>&)>;

  /// What hangs somewhere.
  struct Graft {
    Inode at;        // the directory it hangs at
    Number within;   // the graft that the directory is in; 0 for none
    unsigned depth;  // how many containers it lies within
    NodeId node;     // of the graft it is within, where that is one
    Opener open;     // null: the numbered files at `node`
  };

  /// `most` containers are kept open, or more while they are in use. `hang` is
  /// asked of each that is opened; null: nothing more hangs in any.
  explicit Grafts(size_t most, Hang hang = nullptr)
      : most_(most), hang_(std::move(hang)) {}

  /// The number of what hangs at `graft.at`, the same for every mount but for
  /// one chance in two billion.
  Number Add(Graft graft);

  /// A copy; nothing for what was dropped.
  std::optional<Graft> Find(Number number) const;

  /// The container, opened if it is not; kStale for what was dropped. Threads
  /// that use the same cache open it once.
  Result<std::shared_ptr<const Branch>> Get(Number number,
                                            const ReadContext& context) const;

  /// The container if it is open, or null.
  std::shared_ptr<const Branch> Opened(Number number) const;

  /// The number of what hangs at `at`.
  std::optional<Number> At(Inode at) const;

  /// Replaces the container `old` by what `reopen` opens, and closes what is
  /// inside. Does nothing if `old` is not open here any more. Fails with kStale
  /// if `reopen` opens another container, which is then lost if `lose`.
  Status Renew(Number number, const std::shared_ptr<const Branch>& old,
               const Opener& reopen, bool lose,
               const ReadContext& context) const;

  /// Lost is a container in whose place another one was found: its nodes are
  /// not those that the kernel knows, so Get fails with kStale until Drop.
  void Lose(Number number) const;
  bool IsLost(Number number) const;

  /// Closes everything, since what it is in was renewed.
  void RenewAll() const;

  /// PageLedger::Of and NoteOpened for a file of a container or of numbered
  /// files.
  PageLedger::Verdict PagesOf(Number number, NodeId file) const;
  void NoteOpened(Number number, NodeId file,
                  const PageLedger::Verdict& verdict);

  /// Closes the container that was not used for longest and that nobody uses
  /// now. Returns false if there is none.
  bool CloseOldest() const;

  /// Forgets what hangs at `at`, and whatever hangs in that.
  void Drop(Inode at);

  struct Totals {
    uint64_t containers = 0;
    uint64_t nodes = 0;
    uint64_t bytes = 0;  // of their entries, decoded
    uint64_t hung = 0;   // nodes of what hangs in them besides their own
  };
  /// Of what is open now.
  Totals Sum() const;

 private:
  /// What identifies an opening of a container.
  struct Opening {
    std::optional<uint64_t> digest;
    uint64_t nodes = 0;
    int64_t ctime_ns = 0;
  };

  struct Slot {
    explicit Slot(Graft what) : graft(std::move(what)) {}

    const Graft graft;
    const uint64_t opening = NewOwner();   // names the work of opening it
    std::shared_ptr<const Branch> branch;  // under mutex_; null: closed
    std::list<Number>::iterator used;      // where branch is not null
    std::vector<Number> inside;            // what hangs in it; under mutex_
    std::optional<Opening> opened_as;      // the latest; under mutex_
    bool lost = false;  // another container is in its place; under mutex_
    PageLedger pages;   // under mutex_
  };
  using Branches = std::vector<std::shared_ptr<const Branch>>;

  std::shared_ptr<Slot> SlotOf(Number number) const;
  Result<std::shared_ptr<const Branch>> Open(const Opener& opener,
                                             const ReadContext& context) const;
  std::shared_ptr<const Branch> Use(Slot& slot) const;
  Status Keep(Number number, Slot& slot,
              const std::shared_ptr<const Branch>& branch) const;
  Result<std::shared_ptr<const Container>> OpenOne(
      const Opener& opener, const ReadContext& context) const;
  /// kStale if the slot's nodes were those of another container.
  Status Accept(Slot& slot, const Branch& branch, bool lose,
                Branches& closed) const CTXFS_REQUIRES(mutex_);
  static bool IsAnother(const Slot& slot, const Opening& now);
  void Close(Slot& slot, Branches& closed) const CTXFS_REQUIRES(mutex_);
  /// Closes what is inside, to be opened anew from what is there now.
  void RenewInside(const Slot& slot, Branches& closed) const
      CTXFS_REQUIRES(mutex_);
  void DropOne(Number number, Branches& closed) CTXFS_REQUIRES(mutex_);

  const size_t most_;
  const Hang hang_;
  mutable Mutex mutex_;
  std::unordered_map<Number, std::shared_ptr<Slot>> slots_
      CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<Inode, Number> by_place_ CTXFS_GUARDED_BY(mutex_);
  mutable std::list<Number> used_ CTXFS_GUARDED_BY(mutex_);  // latest first
};

}  // namespace ctxfs
