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

/// The directory of a BlockStore: a directory for each object, called by the
/// SHA-256 of its key in 64 hex digits, with a file for each run of blocks,
/// called "FIRST-COUNT" in decimal digits, or a record, called "record", or a
/// whole file, called "whole-" and its digest in 32 hex digits. Files
/// that are being written are called ".PROCESS-NUMBER". Anything else there is
/// not the store's.
namespace ctxfs::block_files {

/// The header of each file.
inline constexpr std::string_view kMagic = "ctxfsblk";
inline constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
inline constexpr char kUnfinished = '.';
inline constexpr std::string_view kRecord = "record";
inline constexpr std::string_view kWhole = "whole-";
/// In the directory of the store: held by the process that makes room.
inline constexpr const char* kLock = "lock";

/// Fails with kIo unless `directory` is an absolute path.
Status CheckAbsolute(const std::string& directory);

/// Opens the directory of a store. Fails with kIo; if others may write there or
/// it belongs to somebody else, because what others write there they could have
/// us show.
Result<Fd> OpenTop(const std::string& directory);

int64_t Nanoseconds(const struct timespec& time);

/// Opens a file for reading. Fails for what is no regular file, by its errno:
/// waits for no FIFO, follows no link, and opens no device.
Fd OpenRegular(int directory, const char* name);

/// Removes what has the name of a file of the store, and is no regular file: a
/// FIFO, a socket, a device, a link or an empty directory. Returns whether the
/// name is free then.
bool RemoveForeign(int directory, const char* name);

bool ReadAll(int fd, uint64_t offset, MutableBytes out);

/// The digest in the name of a whole file; nullopt for any other name.
std::optional<std::string> DigestInName(std::string_view name);

std::string FileName(uint64_t first, uint32_t count);
/// Returns first and count of a run.
std::optional<std::pair<uint64_t, uint32_t>> ParseFileName(
    std::string_view name);

/// Calls `visit` with each name in a directory but "." and "..".
void ForEachName(int directory,
                 const std::function<void(const std::string&)>& visit);

/// Whether `top` has a file that is not a store's.
bool HasOtherFiles(int top);

/// Calls `visit` with each directory of an object in `top`.
void ForEachObject(
    int top,
    const std::function<void(const std::string& name, int directory)>& visit);

/// A file of an object, which may be damaged or a stranger's.
struct File {
  std::string name;
  uint32_t blocks;  // 0 if it is no run of blocks, or being written
  uint64_t bytes;
  int64_t used_ns;  // its mtime

  /// Whether it is a file that was kept as it is, without a head.
  bool whole() const { return name.starts_with(kWhole); }
  /// Whether it is being written.
  bool unfinished() const { return name.starts_with(kUnfinished); }
  /// Whether it is being written by a process that was likely killed.
  bool abandoned() const;
};

/// Calls `visit` with each regular file in the directory of an object that is
/// called as those of a store are. Follows no links.
void ForEachFile(int directory, const std::function<void(const File&)>& visit);

}  // namespace ctxfs::block_files
