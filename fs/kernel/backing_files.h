// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/io/source.h"
#include "core/vfs/namespace.h"
#include "fs/kernel/questions.h"

namespace ctxfs {

/// The open files that the kernel reads by itself (FUSE_PASSTHROUGH, Linux 6.9
/// and libfuse 3.17). Registering one requires CAP_SYS_ADMIN, which the threads
/// that serve do not have, so the thread that is not confined does it. All
/// handles of an inode are read in the same way: the kernel refuses to mix
/// them. Safe for any number of threads.
class BackingFiles final : public Questions {
 public:
  /// A handle of a file, counted until it is destroyed.
  class Use {
   public:
    Use() = default;
    Use(BackingFiles& files, Inode inode, int32_t id, SourcePtr file)
        : files_(&files), inode_(inode), id_(id), file_(std::move(file)) {}
    ~Use() {
      if (files_ != nullptr) files_->Close(inode_);
    }
    Use(Use&& other) noexcept
        : files_(std::exchange(other.files_, nullptr)),
          inode_(other.inode_),
          id_(other.id_),
          file_(std::move(other.file_)) {}
    Use& operator=(Use&&) = delete;

    /// For fuse_file_info::backing_id; 0 if the daemon serves the reads.
    int32_t id() const { return id_; }
    /// The file that the kernel reads; null if the daemon serves the reads.
    const SourcePtr& file() const { return file_; }

   private:
    BackingFiles* files_ = nullptr;
    Inode inode_ = 0;
    int32_t id_ = 0;
    SourcePtr file_;
  };

  /// Fails if the process has no descriptors left.
  static Result<std::unique_ptr<BackingFiles>> Make();

  /// Whether the kernel said at the start that it can.
  void set_offered() { offered_ = true; }

  /// Registers files with `device`, the descriptor of the session, from now on.
  /// Fails with what prevents it: libfuse, the kernel, or privileges. Called
  /// while there are no other threads, by one that is not confined.
  Status Enable(int device);
  bool enabled() const { return device_ >= 0; }

  /// Notes a handle of `inode`, whose bytes are those of `file`; null: of no
  /// file. If there are handles already, the kernel reads what it reads for
  /// them, which may be another file.
  Use Open(Inode inode, const SourcePtr& file);

  /// Calls `act` while nobody has `inode` open and nobody can open it, if the
  /// kernel would read `file` for it. Returns false if somebody has it open.
  /// To have pages dropped: one that a READ is to fill would be waited for,
  /// without an end if the daemon is killed meanwhile.
  bool WhileUnused(Inode inode, const SourcePtr& file,
                   const std::function<void()>& act);

  /// Handles that the kernel reads by itself, ever.
  uint64_t opened() const { return opened_; }

  int fd() const override { return changes_.fd(); }
  void Answer() override;

 private:
  /// What has to be done: to register a file if `id` is 0, else to unregister
  /// the id. The file, and the room it takes, is given up after that.
  struct Change {
    SourcePtr file;
    int32_t id = 0;
  };
  struct Backing {
    uint64_t handles = 0;
    bool decided = false;
    int32_t id = 0;            // 0: the file is small, or the kernel refused it
    SourcePtr file = nullptr;  // null if id is 0
  };

  explicit BackingFiles(Fd wake) : changes_(std::move(wake)) {}

  int32_t Register(int descriptor) const;
  void Unregister(int32_t id) const;
  /// Has `file` registered; returns 0 if it is not.
  int32_t IdFor(const SourcePtr& file);
  /// Ends the waiting of others who open `inode`.
  void Decide(Inode inode, const SourcePtr& file, int32_t id);
  void Close(Inode inode);

  bool offered_ = false;
  int device_ = -1;
  std::atomic<uint64_t> opened_ = 0;
  QuestionQueue<Change, int32_t> changes_;
  Mutex mutex_;
  CondVar decided_;
  std::unordered_map<Inode, Backing> files_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
