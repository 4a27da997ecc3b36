// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include <cstddef>

#include "core/vfs/attributes.h"
#include "fs/mount/server.h"

// What the files of FUSE operations share.
namespace ctxfs::ops {

inline Server& ServerOf(fuse_req_t req) {
  return *static_cast<Server*>(fuse_req_userdata(req));
}

/// The type bits of a mode: directory, symbolic link or regular file.
mode_t TypeBits(bool directory, bool link);
struct stat StatOf(const Server& server, Inode inode,
                   const Attributes& attributes);
/// Returns how many seconds the kernel may cache an answer.
double Seconds(const Server& server, Lifetime lifetime);
/// Returns how many seconds the kernel may cache attributes. With revalidate=,
/// it also uses its cached pages of a file for as long.
double AttributeSeconds(const Server& server, const Attributes& attributes);
/// Returns how many seconds the kernel may cache the name of a file in a
/// directory whose names have the lifetime `names`.
double NameSeconds(const Server& server, const Attributes& attributes,
                   Lifetime names);

// Defined in ops_files.cc.
void Open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);
void Read(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
          fuse_file_info* fi);
void Flush(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);
void Release(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);

// Defined in ops_directories.cc.
void OpenDir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);
void ReadDir(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
             fuse_file_info* fi);
void ReadDirPlus(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
                 fuse_file_info* fi);
void ReleaseDir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi);

}  // namespace ctxfs::ops
