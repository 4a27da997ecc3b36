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

/// The open files that the kernel reads itself (FUSE_PASSTHROUGH, Linux 6.9 and
/// libfuse 3.17). Registering a file requires CAP_SYS_ADMIN, which serving
/// threads lack, so a thread that is not confined does it. The kernel refuses
/// to mix ways of reading an inode, so all handles of an inode are read in the
/// same way. Thread-safe.
class BackingFiles final : public Questions {
 public:
  /// A handle of an inode. BackingFiles counts the handle as open until this
  /// object is destroyed.
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

    /// The value for fuse_file_info::backing_id; 0 if the daemon serves the
    /// reads.
    int32_t id() const { return id_; }
    /// The file that the kernel reads; null if the daemon serves the reads.
    const SourcePtr& file() const { return file_; }

   private:
    BackingFiles* files_ = nullptr;
    Inode inode_ = 0;
    int32_t id_ = 0;
    SourcePtr file_;
  };

  /// Fails if the process is out of descriptors.
  static Result<std::unique_ptr<BackingFiles>> Make();

  /// Records that FUSE_INIT offered passthrough.
  void set_offered() { offered_ = true; }

  /// Starts registering files with `device`, the descriptor of the session.
  /// Fails if libfuse or the kernel prevents it, or for lack of privileges.
  /// Must run in a thread that is not confined, before other threads start.
  Status Enable(int device);
  bool enabled() const { return device_ >= 0; }

  /// Adds a handle of `inode`, backed by `file`, which may be null. If the
  /// inode has handles, the new handle shares their backing file, which may
  /// differ from `file`.
  Use Open(Inode inode, const SourcePtr& file);

  /// Returns false if `inode` has handles. Else calls `act` if the kernel would
  /// read `file` for `inode`; opens of `inode` wait meanwhile. `act` drops
  /// cached pages. With a handle, a READ could fill such a page, and dropping
  /// it would wait for the READ, for ever if the daemon is killed meanwhile.
  bool WhileUnused(Inode inode, const SourcePtr& file,
                   const std::function<void()>& act);

  /// Returns how many handles were opened for the kernel to read itself,
  /// including those closed since.
  uint64_t opened() const { return opened_; }

  int fd() const override { return changes_.fd(); }
  void Answer() override;

 private:
  /// A task: registers `file` if `id` is 0, else unregisters `id` and then
  /// closes the file, which frees its disk space.
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
  /// Registers `file`; returns 0 if that fails.
  int32_t IdFor(const SourcePtr& file);
  /// Stores how `inode` is read, and wakes the threads that wait to open it.
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
