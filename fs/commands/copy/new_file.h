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

/// Writes all of `bytes` to a descriptor. Errors begin with `what`.
Status WriteAll(int fd, Bytes bytes, const std::string& what);

/// A file written under a temporary name and renamed when it is complete and on
/// disk. Until then, an old file of the final name stays.
class NewFile {
 public:
  /// Creates ".ctxfs-NUMBER.part" in `directory`.
  static Result<NewFile> Create(DirectoryFd directory);

  /// Removes the temporary file unless Commit succeeded.
  ~NewFile();
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;

  Status Write(Bytes bytes) { return WriteAll(fd_, bytes, "cannot write"); }

  /// Flushes the file to disk, closes it, and renames it to `name`. Without
  /// `replace`, fails if `name` exists.
  Status Commit(const std::string& name, bool replace);

 private:
  NewFile(DirectoryFd directory, std::string temporary, int fd)
      : directory_(std::move(directory)),
        temporary_(std::move(temporary)),
        fd_(fd) {}

  DirectoryFd directory_;
  std::string temporary_;  // empty: none, or renamed
  int fd_;                 // negative: closed
};

/// Verifies all of `content`, then writes it to the file `name` of `directory`;
/// see NewFile::Commit for `replace`. Calls `proceed`, unless it is null,
/// before each piece is written; its failure stops the writing.
Status WriteFile(
    const Content& content, const ReadContext& context, DirectoryFd directory,
    const std::string& name, bool replace,
    const std::function<Status(uint64_t bytes)>& proceed = nullptr);

/// Creates a symbolic link `name` in `directory`. Without `replace`, fails if
/// `name` exists. Returns false if it already is a link to `target`.
Result<bool> MakeSymlink(const Fd& directory, const std::string& target,
                         const std::string& name, bool replace);

/// A file in an open directory.
struct NameIn {
  const Fd& directory;
  const std::string& name;
};

/// Creates a hard link `to` to the file `from`. Without `replace`, fails if
/// `to` exists. Returns false if both already are the same file.
Result<bool> MakeHardLink(const NameIn& from, const NameIn& to, bool replace);

}  // namespace ctxfs
