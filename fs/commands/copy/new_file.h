// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "fs/commands/target.h"

namespace ctxfs {

/// Writes all of `bytes` to a descriptor. Fails with "WHAT: " and the reason.
Status WriteAll(int fd, Bytes bytes, const std::string& what);

/// A file that is written under a temporary name, and gets its own name when it
/// is complete and on disk. Until then that name has its old file, or none.
class NewFile {
 public:
  /// Creates ".ctxfs-NUMBER.part" in `directory`.
  static Result<NewFile> Create(DirectoryFd directory);

  /// Removes the temporary file unless Commit succeeded.
  ~NewFile();
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;

  Status Write(Bytes bytes) { return WriteAll(fd_, bytes, "cannot write"); }

  /// Flushes the file to disk, closes it, and gives it `name`. With `replace` a
  /// file of that name is replaced, otherwise the call fails if there is one.
  Status Commit(const std::string& name, bool replace);

 private:
  NewFile(DirectoryFd directory, std::string temporary, int fd)
      : directory_(std::move(directory)),
        temporary_(std::move(temporary)),
        fd_(fd) {}

  DirectoryFd directory_;
  std::string temporary_;  // empty: none, or it has its own name
  int fd_;                 // negative: closed
};

/// Writes `content`, all of it verified before its first byte, as the file
/// `name` of `directory`; with `replace` as NewFile::Commit has it. `proceed`
/// is called before each piece is written, and ends it by failing; null:
/// nothing.
Status WriteFile(
    const Content& content, const ReadContext& context, DirectoryFd directory,
    const std::string& name, bool replace,
    const std::function<Status(uint64_t bytes)>& proceed = nullptr);

/// Makes a symbolic link `name` in `directory`. With `replace` a file of that
/// name is replaced, otherwise the call fails if there is one. Returns false if
/// it is a link with that target already.
Result<bool> MakeSymlink(const Fd& directory, const std::string& target,
                         const std::string& name, bool replace);

/// A file in an open directory.
struct NameIn {
  const Fd& directory;
  const std::string& name;
};

/// Makes `to` another name of the file `from`. With `replace` a file of that
/// name is replaced, otherwise the call fails if there is one. Returns false if
/// that is the file already.
Result<bool> MakeHardLink(const NameIn& from, const NameIn& to, bool replace);

}  // namespace ctxfs
