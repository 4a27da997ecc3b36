// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include <cstddef>

#include "core/vfs/attributes.h"
#include "fs/mount/server.h"

// Shared by the files of FUSE operations.
namespace ctxfs::ops {

inline Server& ServerOf(fuse_req_t req) {
  return *static_cast<Server*>(fuse_req_userdata(req));
}

/// The type bits of a mode: of a directory, of a symbolic link, or of a file.
mode_t TypeBits(bool directory, bool link);
struct stat StatOf(const Server& server, Inode inode,
                   const Attributes& attributes);
/// Returns how long the kernel may keep an answer, in seconds.
double Seconds(const Server& server, Lifetime lifetime);
/// Returns how long the kernel may keep attributes, in seconds. Meanwhile it
/// uses its pages of a file that it opens by itself.
double AttributeSeconds(const Server& server, const Attributes& attributes);

// ops_files.cc
void Open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);
void Read(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
          fuse_file_info* fi);
void Flush(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);
void Release(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);

// ops_directories.cc
void OpenDir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);
void ReadDir(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
             fuse_file_info* fi);
void ReadDirPlus(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
                 fuse_file_info* fi);
void ReleaseDir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);

}  // namespace ctxfs::ops
