// SPDX-License-Identifier: Apache-2.0
#include "fs/file_keeper.h"

#include <fcntl.h>

#include <cerrno>
#include <new>
#include <optional>

#include "core/base/text.h"
#include "core/io/io_error.h"
#include "core/io/spill_file.h"

namespace ctxfs {

Result<std::unique_ptr<FileKeeper>> FileKeeper::Open(
    const std::string& directory) {
  Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.ok()) return IoError("cannot open " + Quote(directory));
  Fd wake = CTXFS_TRY(decltype(asked_)::MakeWake());
  return std::unique_ptr<FileKeeper>(
      new FileKeeper(std::move(opened), std::move(wake)));
}

Result<Fd> FileKeeper::Make(uint64_t size) {
  std::optional<Result<Fd>> made = asked_.Ask(size);
  if (made) return std::move(*made);
  return SystemError("cannot make a temporary file", ETIMEDOUT);
}

void FileKeeper::Answer() {
  asked_.AnswerAll(
      [this](uint64_t size) -> Result<Fd> {
        try {
          return MakeUnnamed(directory_, size);
        } catch (const std::bad_alloc&) {
          return Error{Code::kNoMemory, "out of memory"};
        }
      },
      [](const Result<Fd>& /*closed*/) {});
}

}  // namespace ctxfs
