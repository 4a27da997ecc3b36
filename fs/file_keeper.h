// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/io/file_maker.h"
#include "fs/questions.h"

namespace ctxfs {

/// Makes files for the threads that serve, which may open none for writing: the
/// thread that is not confined does it. Safe for any number of threads.
class FileKeeper final : public FileMaker, public Questions {
 public:
  /// Files are made in `directory`, even if another gets its name. Fails with
  /// kIo if it cannot be opened, and with kTooManyFiles.
  static Result<std::unique_ptr<FileKeeper>> Open(const std::string& directory);

  Result<Fd> Make(uint64_t size) override;

  int fd() const override { return asked_.fd(); }
  void Answer() override;

 private:
  FileKeeper(Fd directory, Fd wake)
      : directory_(std::move(directory)), asked_(std::move(wake)) {}

  const Fd directory_;
  QuestionQueue<uint64_t, Result<Fd>> asked_;
};

}  // namespace ctxfs
