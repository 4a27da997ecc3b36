// SPDX-License-Identifier: Apache-2.0
//
// Writes notifications without libfuse: its functions need the session, which
// may have ended, and their parameters differ between versions.
#include "fs/kernel/kernel_names.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <span>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

// FUSE_EXPIRE_ONLY: looks up the name again without dropping mounts below it.
// Kernels before 6.2 take it for padding and drop the name.
constexpr uint32_t kExpireOnly = 1;

/// The notification of linux/fuse.h since protocol 7.38.
struct InvalidEntry {
  uint64_t parent;
  uint32_t name_length;
  uint32_t flags;
};
static_assert(sizeof(InvalidEntry) == sizeof(fuse_notify_inval_entry_out));

/// The offset of a notification that drops all pages of a file.
constexpr int64_t kAllPages = 0;
/// The offset of a notification that drops no pages.
constexpr int64_t kAttributesAlone = -1;

/// Writes a notification. Replaces the first of `parts` by the header.
void Notify(int device, fuse_notify_code code, std::span<iovec> parts) {
  fuse_out_header header{};
  parts[0] = {&header, sizeof(header)};
  size_t size = 0;
  for (const iovec& part : parts) size += part.iov_len;
  header.len = static_cast<uint32_t>(size);
  header.error = code;
  // writev fails if the kernel does not have the inode or name, or the mount
  // has ended.
  (void)!::writev(device, parts.data(), static_cast<int>(parts.size()));
}

void NotifyOfInode(int device, Inode inode, int64_t from) {
  fuse_notify_inval_inode_out body{};
  body.ino = inode;
  body.off = from;
  iovec parts[] = {{}, {&body, sizeof(body)}};
  Notify(device, FUSE_NOTIFY_INVAL_INODE, parts);
}

}  // namespace

Result<std::shared_ptr<const KernelNames>> KernelNames::Of(int device) {
  Fd another(::fcntl(device, F_DUPFD_CLOEXEC, 0));
  if (!another.ok()) return IoError("the device cannot be opened again");
  return std::shared_ptr<const KernelNames>(
      new KernelNames(std::move(another)));
}

void KernelNames::Forget(Inode directory, const std::string& name) const {
  InvalidEntry entry{directory, static_cast<uint32_t>(name.size()),
                     kExpireOnly};
  iovec parts[] = {{},
                   {&entry, sizeof(entry)},
                   {const_cast<char*>(name.c_str()), name.size() + 1}};
  Notify(device_.get(), FUSE_NOTIFY_INVAL_ENTRY, parts);
}

void KernelNames::ForgetAttributes(Inode inode) const {
  NotifyOfInode(device_.get(), inode, kAttributesAlone);
}

void KernelNames::DropPages(Inode file) const {
  NotifyOfInode(device_.get(), file, kAllPages);
}

}  // namespace ctxfs
