// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/stop_flag.h"
#include "core/base/text/path_patterns.h"
#include "core/content/block_cache.h"
#include "core/io/persistent_cache.h"
#include "core/io/spill_file.h"
#include "core/vfs/attributes.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// Files below cache_dir that have the bytes of files of containers. One is
/// written after its file was read as a whole, by a thread of its own, and used
/// from the next open on, once it is complete. The bytes are verified as for
/// any reader. The one that was opened least recently makes room, unless
/// somebody has it open. Best effort. Safe for any number of threads.
class MaterializedFiles {
 public:
  /// The cache outlives this.
  explicit MaterializedFiles(BlockCache& cache) : cache_(cache) {}
  ~MaterializedFiles();
  MaterializedFiles(const MaterializedFiles&) = delete;
  MaterializedFiles& operator=(const MaterializedFiles&) = delete;

  /// Files are written in `files`, each as a file of its own. `copies`: also
  /// those that need no work, for which the kernel reads by itself. Called
  /// before there are threads; without it, none is written.
  void WriteTo(std::shared_ptr<SpillFile> files, bool copies);

  /// Finds the path of a file below its container; empty if it is not known.
  using Namer = std::function<std::string(Inode, const ReadContext&)>;
  void NameBy(Namer path) { path_ = std::move(path); }
  /// Has no other files made than those whose paths these match, unless they
  /// are empty. Called, like NameBy, before there are threads.
  void Only(PathPatterns paths) { only_ = std::move(paths); }
  /// Has files kept for other mounts, and those of others taken up: by `files`,
  /// which outlives this. Called before there are threads.
  void KeepIn(PersistentCache& files) { kept_ = &files; }

  /// Has the kernel drop the pages of a file that nobody has open, because it
  /// reads `made` instead of them by itself from now on. Returns false if
  /// somebody has it open.
  using DropPages = std::function<bool(Inode, const SourcePtr& made)>;
  /// Has pages dropped by `drop`, in the background, of the files that are
  /// written: both would be in memory, and the next open would have to drop
  /// them. Called before there are threads.
  void DropPagesBy(DropPages drop) { drop_pages_ = std::move(drop); }

  /// Ends the thread; nothing is written any more.
  void Stop();

  /// Sets the backing of a file that was just opened, if there is one: written
  /// here or by another mount, or decoded into a file of its own before
  /// (SpillStore). Fails with kInterrupted alone.
  Status Find(Inode inode, OpenFile& file, const ReadContext& context);

  /// Notes that as many bytes of a file were read as it has.
  void NoteRead(Inode inode, std::shared_ptr<const OpenFile> file);
  /// Notes that a handle of a file was closed.
  void NoteClosed(Inode inode);

  struct Stats {
    uint64_t files = 0;  // now
    uint64_t bytes = 0;  // on the disk, of those that somebody has open, too
    uint64_t written = 0;
    uint64_t taken = 0;   // ever, of those that other mounts have written
    uint64_t opened = 0;  // ever, instead of what they were made from
  };
  Stats stats() const;

 private:
  using Part = std::shared_ptr<const SpillFile::Part>;
  struct Made {
    Inode inode;
    // Another source after the container was reopened.
    std::weak_ptr<const Source> made_from;
    Part part;
    // Whether the kernel may have pages of the file, of before it was made.
    bool has_pages = false;
  };
  struct Job {
    Inode inode = 0;
    std::shared_ptr<const OpenFile> file;  // null: only its pages are dropped
  };

  bool IsWorthIt(const OpenFile& file) const;
  bool IsWanted(const std::string& path) const;
  SpillFile::Loan FindMade(Inode inode, const OpenFile& file);
  void Add(Inode inode, const OpenFile& file, Part part, bool has_pages);
  std::optional<KeptName> NameOf(Inode inode, const OpenFile& file,
                                 const ReadContext& context) const;
  bool MayBeKept(Inode inode, const OpenFile& file) const;
  Result<SpillFile::Loan> TakeUp(Inode inode, const OpenFile& file,
                                 const ReadContext& context);
  /// Returns the file, to be freed without the lock.
  Part Forget(std::list<Made>::iterator made) CTXFS_REQUIRES(mutex_);
  void TryQueue(Job job);
  void Queue(Job job);
  void Run();
  void Do(const Job& job);
  Status Write(const Job& job);
  void Drop(Inode inode);
  /// What Drop is to drop the pages of; null if there are none.
  SourcePtr WithPages(Inode inode);
  /// Returns what `take` returns, for which older files go if there is no room;
  /// null if those that are open take it.
  template <typename Take>
  Result<Part> WithRoom(uint64_t size, const Take& take);
  bool EvictOldest();
  void Warn(const Error& error);

  BlockCache& cache_;
  std::shared_ptr<SpillFile> files_;  // null: none is written
  bool copies_ = false;
  PersistentCache* kept_ = nullptr;  // null: none is kept
  Namer path_;
  PathPatterns only_;
  DropPages drop_pages_;
  StopFlag stopping_;
  bool warned_ = false;  // of the thread
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Job> queue_ CTXFS_GUARDED_BY(mutex_);
  std::list<Made> made_ CTXFS_GUARDED_BY(mutex_);  // most recent first
  std::unordered_map<Inode, std::list<Made>::iterator> by_inode_
      CTXFS_GUARDED_BY(mutex_);
  // Files that no other mount had written when they were first opened.
  std::unordered_set<Inode> missed_ CTXFS_GUARDED_BY(mutex_);
  Stats stats_ CTXFS_GUARDED_BY(mutex_);
  std::thread thread_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
