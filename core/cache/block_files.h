// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/io/fd.h"

/// The directory of a BlockStore. It has a directory per object, named by the
/// SHA-256 of the object's key in 64 hex digits. Its files are runs of blocks,
/// named "FIRST-COUNT" in decimal digits; a record, named "record"; and whole
/// files, named "whole-" and the digest in 32 hex digits. Files being written
/// are named ".PROCESS-NUMBER". Besides directories of objects, there is the
/// file kLock. All other files are foreign.
namespace ctxfs::block_files {

/// The first bytes of each file, except whole files.
inline constexpr std::string_view kMagic = "ctxfsblk";
inline constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
inline constexpr char kUnfinished = '.';
inline constexpr std::string_view kRecord = "record";
inline constexpr std::string_view kWhole = "whole-";
/// A file in the store's directory, locked by the process that evicts.
inline constexpr const char* kLock = "lock";

/// Fails with kIo unless `directory` is an absolute path.
Status CheckAbsolute(const std::string& directory);

/// Opens the directory of a store. Fails with kIo, also if the directory
/// belongs to or is writable for other users, who could inject bytes to be
/// served.
Result<Fd> OpenTop(const std::string& directory);

int64_t Nanoseconds(const struct timespec& time);

/// Opens a regular file for reading. For any other file, fails with an errno:
/// waits for no FIFO, follows no link, and opens no device.
Fd OpenRegular(int directory, const char* name);

/// Removes a FIFO, socket, device, link or empty directory that has the name of
/// a store's file. Returns whether the name is free then.
bool RemoveForeign(int directory, const char* name);

/// The digest in the name of a whole file; nullopt for any other name.
std::optional<std::string> DigestInName(std::string_view name);

/// Whether the store with the directory `top` has objects.
bool HasObjects(int top);

std::string FileName(uint64_t first, uint32_t count);
/// Returns first and count of a run; nullopt if `name` is not a run's.
std::optional<std::pair<uint64_t, uint32_t>> ParseFileName(
    std::string_view name);

/// Calls `visit` with each name in a directory except "." and "..".
void ForEachName(int directory,
                 const std::function<void(const std::string&)>& visit);

bool HasOtherFiles(int top);

/// Calls `visit` with each directory of an object in `top`.
void ForEachObject(
    int top,
    const std::function<void(const std::string& name, int directory)>& visit);

/// A file in an object's directory, which may be damaged or foreign.
struct File {
  std::string name;
  uint32_t blocks;  // 0 if it is no run of blocks, or unfinished
  uint64_t bytes;
  int64_t used_ns;  // its mtime

  /// Whether it is a whole file, without a head.
  bool whole() const { return name.starts_with(kWhole); }
  bool unfinished() const { return name.starts_with(kUnfinished); }
  /// Whether it is unfinished and was written over an hour ago, so that its
  /// writer was likely killed.
  bool abandoned() const;
};

/// Calls `visit` with each regular file in an object's directory that has the
/// name of a store's file. Follows no links.
void ForEachFile(int directory, const std::function<void(const File&)>& visit);

}  // namespace ctxfs::block_files
