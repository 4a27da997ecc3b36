// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/base/stop_flag.h"
#include "core/base/text/path_patterns.h"
#include "core/content/block_cache.h"
#include "core/io/persistent_cache.h"
#include "core/io/spill_file.h"
#include "core/vfs/attributes.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// Files below cache_dir with the bytes of files of containers. A background
/// thread writes such a copy after a file of a container was read as a whole;
/// later opens of that file use the complete copy. The bytes are verified as
/// for any reader. The least recently opened file that nobody has open is
/// evicted first. Best effort. Safe for any number of threads.
class MaterializedFiles {
 public:
  /// `cache` must outlive this object.
  explicit MaterializedFiles(BlockCache& cache) : cache_(cache) {}
  ~MaterializedFiles();
  MaterializedFiles(const MaterializedFiles&) = delete;
  MaterializedFiles& operator=(const MaterializedFiles&) = delete;

  /// Writes materialised files to `files`, each to a file of its own. `copies`:
  /// also copies uncompressed files, so that the kernel can read the copy. Must
  /// be called before there are threads; without this call, nothing is
  /// materialised.
  void WriteTo(std::shared_ptr<SpillFile> files, bool copies);

  /// Returns the path of a file below its container; empty if unknown.
  using Namer = std::function<std::string(Inode, const ReadContext&)>;
  void NameBy(Namer path) { path_ = std::move(path); }
  /// Materialises only matching paths; an empty set matches all. Like NameBy,
  /// must be called before there are threads.
  void Only(PathPatterns paths) { only_ = std::move(paths); }
  /// Shares materialised files with other mounts through `files`, which must
  /// outlive this object. Must be called before there are threads.
  void KeepIn(PersistentCache& files) { kept_ = &files; }

  /// Drops the kernel's pages of a file, because the kernel will read `made`
  /// instead. Returns false if somebody has the file open.
  using DropPages = std::function<bool(Inode, const SourcePtr& made)>;
  /// Drops the pages of materialised files by `drop`, in the background:
  /// otherwise both copies would be in memory, and the next open would have to
  /// drop them. Must be called before there are threads.
  void DropPagesBy(DropPages drop) { drop_pages_ = std::move(drop); }

  /// Stops the thread; nothing is written afterwards.
  void Stop();

  /// Looks for a file on the disk with the bytes of `file`, which was just
  /// opened: materialised here or by another mount, or written by the
  /// SpillStore. Makes such a file the backing of `file`; if it is
  /// materialised, `file` is also read from it. Fails only with kInterrupted.
  Status Find(Inode inode, OpenFile& file, const ReadContext& context);

  /// Records that as many bytes were read as the file has, so that it is
  /// materialised if that is worth it.
  void NoteRead(Inode inode, std::shared_ptr<const OpenFile> file);
  void NoteClosed(Inode inode);

  struct Stats {
    uint64_t files = 0;  // now
    uint64_t bytes = 0;  // on the disk now, open files included
    uint64_t written = 0;
    uint64_t taken = 0;   // adopted from other mounts, ever
    uint64_t opened = 0;  // opens that used a materialised file, ever
  };
  Stats stats() const;

 private:
  using Part = std::shared_ptr<const SpillFile::Part>;
  struct Made {
    // Changes when the container is reopened.
    std::weak_ptr<const Source> made_from;
    Part part;
    // Whether the kernel may have pages of the file from before it was
    // materialised.
    bool has_pages = false;
  };
  struct Job {
    Inode inode = 0;
    std::shared_ptr<const OpenFile> file;  // null: only drop its pages
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
  void TryQueue(Job job);
  void Queue(Job job);
  void Run();
  void Do(const Job& job);
  Status Write(const Job& job);
  void Drop(Inode inode);
  /// The source whose pages Drop is to drop; null for none.
  SourcePtr WithPages(Inode inode);
  /// Returns the result of `take`, after evicting older files if space is
  /// needed; null if open files take all space.
  template <typename Take>
  Result<Part> WithRoom(uint64_t size, const Take& take);
  bool EvictOldest();
  void Warn(const Error& error);

  BlockCache& cache_;
  std::shared_ptr<SpillFile> files_;  // null: nothing is written
  bool copies_ = false;
  PersistentCache* kept_ = nullptr;  // null: nothing is shared
  Namer path_;
  PathPatterns only_;
  DropPages drop_pages_;
  StopFlag stopping_;
  bool warned_ = false;  // whether a failure was logged
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Job> queue_ CTXFS_GUARDED_BY(mutex_);
  LruMap<Inode, Made> made_ CTXFS_GUARDED_BY(mutex_);
  // Files that no other mount had written when they were first opened.
  std::unordered_set<Inode> missed_ CTXFS_GUARDED_BY(mutex_);
  Stats stats_ CTXFS_GUARDED_BY(mutex_);
  std::thread thread_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
