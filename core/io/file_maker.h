// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// Creates files for threads that may not open files for writing.
class FileMaker {
 public:
  virtual ~FileMaker() = default;

  /// Returns a new unnamed file of `size` bytes, reserved on the disk; write(2)
  /// fills it from its start. Fails with kIo; the errno is ENOSPC if the disk
  /// has too little space.
  virtual Result<Fd> Make(uint64_t size) = 0;
};

}  // namespace ctxfs
