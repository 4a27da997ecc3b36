// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel/backing_files.h"

#include <linux/fuse.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <string>

#include "core/base/limits.h"
#include "core/base/mutex_unlock.h"
#include "core/io/io_error.h"

namespace ctxfs {

namespace {

// Registering a file costs as much as one or two READs. A smaller file needs
// few READs, and its pages stay cached for the next open.
constexpr uint64_t kLeastSize = limits::kMiB;

}  // namespace

Result<std::unique_ptr<BackingFiles>> BackingFiles::Make() {
  Fd wake = CTXFS_TRY(decltype(changes_)::MakeWake());
  return std::unique_ptr<BackingFiles>(new BackingFiles(std::move(wake)));
}

#ifdef FUSE_DEV_IOC_BACKING_OPEN

int32_t BackingFiles::Register(int descriptor) const {
  fuse_backing_map map{};
  map.fd = descriptor;
  return ::ioctl(device_, FUSE_DEV_IOC_BACKING_OPEN, &map);
}

void BackingFiles::Unregister(int32_t id) const {
  auto number = static_cast<uint32_t>(id);
  (void)::ioctl(device_, FUSE_DEV_IOC_BACKING_CLOSE, &number);
}

Status BackingFiles::Enable(int device) {
  if (!offered_) {
    return Error{Code::kUnsupported,
                 "the kernel does not offer it: Linux 6.9 or later does"};
  }
  const Fd probe(::memfd_create("ctxfs", MFD_CLOEXEC));
  if (!probe.ok()) return IoError("cannot create a memory file");
  device_ = device;
  const int32_t id = Register(probe.get());
  if (id > 0) {
    Unregister(id);
    return {};
  }
  Error error = IoError("registering a file, which needs CAP_SYS_ADMIN");
  device_ = -1;
  return error;
}

#else

int32_t BackingFiles::Register(int /*descriptor*/) const { return 0; }
void BackingFiles::Unregister(int32_t /*id*/) const {}

Status BackingFiles::Enable(int /*device*/) {
  return Error{Code::kUnsupported,
               "this build does not have it: it needs libfuse 3.17 and the "
               "headers of Linux 6.9"};
}

#endif

int32_t BackingFiles::IdFor(const SourcePtr& file) {
  try {
    if (file == nullptr || file->size() < kLeastSize) return 0;
    return changes_.Ask({file, 0}).value_or(0);
  } catch (...) {  // the daemon serves the reads
    return 0;
  }
}

BackingFiles::Use BackingFiles::Open(Inode inode, const SourcePtr& file) {
  const MutexLock lock(mutex_);
  // References to elements stay valid while others are inserted.
  Backing& backing = files_[inode];
  if (backing.handles++ == 0) {
    const MutexUnlock unlocked(mutex_);
    Decide(inode, file, IdFor(file));
  }
  while (!backing.decided) decided_.Wait(mutex_);
  if (backing.id > 0) opened_.fetch_add(1, std::memory_order_relaxed);
  return Use(*this, inode, backing.id, backing.file);
}

void BackingFiles::Decide(Inode inode, const SourcePtr& file, int32_t id) {
  const MutexLock lock(mutex_);
  Backing& backing = files_[inode];
  backing.id = id;
  if (id > 0) backing.file = file;
  backing.decided = true;
  decided_.NotifyAll();
}

bool BackingFiles::WhileUnused(Inode inode, const SourcePtr& file,
                               const std::function<void()>& act) {
  {
    const MutexLock lock(mutex_);
    const auto [backing, unused] = files_.try_emplace(inode);
    if (!unused) return false;
    backing->second.handles = 1;
  }
  const int32_t id = IdFor(file);
  if (id > 0) act();
  Decide(inode, file, id);
  Close(inode);
  return true;
}

void BackingFiles::Close(Inode inode) {
  Change change;
  {
    const MutexLock lock(mutex_);
    const auto found = files_.find(inode);
    if (found == files_.end() || --found->second.handles > 0) return;
    change = {std::move(found->second.file), found->second.id};
    files_.erase(found);
  }
  if (change.id <= 0) return;
  try {
    changes_.Post(std::move(change));
  } catch (...) {
    // If the file cannot be unregistered, the kernel keeps it open until the
    // mount ends.
  }
}

void BackingFiles::Answer() {
  changes_.AnswerAll(
      [this](const Change& change) {
        if (change.id == 0) {
          // Registering fails for files of a stacked file system, for instance.
          return std::max(0, Register(change.file->descriptor()));
        }
        Unregister(change.id);
        return 0;
      },
      [this](int32_t id) {
        if (id > 0) Unregister(id);
      });
}

}  // namespace ctxfs
