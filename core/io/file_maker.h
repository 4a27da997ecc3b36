// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// Makes files for threads that may open none for writing.
class FileMaker {
 public:
  virtual ~FileMaker() = default;

  /// Returns a new file without a name. Its size is `size`, and the disk has
  /// reserved as much; write(2) fills it from its start. Fails with kIo, and
  /// ENOSPC if the disk has not as much.
  virtual Result<Fd> Make(uint64_t size) = 0;
};

}  // namespace ctxfs
