// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_names.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

namespace ctxfs {
namespace {

// FUSE_EXPIRE_ONLY: the name is looked up again, and not dropped with what is
// mounted below it. Kernels before 6.2 take it for padding, and drop the name.
// libfuse has functions for it whose parameters differ between versions.
constexpr uint32_t kExpireOnly = 1;

/// The notification as linux/fuse.h has it since protocol 7.38.
struct InvalidEntry {
  uint64_t parent;
  uint32_t name_length;
  uint32_t flags;
};
static_assert(sizeof(InvalidEntry) == sizeof(fuse_notify_inval_entry_out));

}  // namespace

void ForgetKernelName(fuse_session* session, Inode directory,
                      const std::string& name) {
  if (fuse_session_exited(session) != 0) return;
  InvalidEntry entry{directory, static_cast<uint32_t>(name.size()),
                     kExpireOnly};
  const size_t with_nul = name.size() + 1;
  fuse_out_header header{};
  header.len = static_cast<uint32_t>(sizeof(header) + sizeof(entry) + with_nul);
  header.error = FUSE_NOTIFY_INVAL_ENTRY;
  const iovec parts[] = {{&header, sizeof(header)},
                         {&entry, sizeof(entry)},
                         {const_cast<char*>(name.c_str()), with_nul}};
  // ENOENT: the kernel does not know the name.
  (void)!::writev(fuse_session_fd(session), parts, 3);
}

void ForgetKernelAttributes(fuse_session* session, Inode inode) {
  if (fuse_session_exited(session) != 0) return;
  // A negative offset stands for the attributes alone.
  (void)fuse_lowlevel_notify_inval_inode(session, inode, -1, 0);
}

void DropKernelPages(fuse_session* session, Inode file) {
  if (fuse_session_exited(session) != 0) return;
  (void)fuse_lowlevel_notify_inval_inode(session, file, 0, 0);
}

}  // namespace ctxfs
