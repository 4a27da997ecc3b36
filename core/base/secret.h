// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/base/bytes.h"

namespace ctxfs {

/// Memory that core dumps omit and that is wiped when freed. With `locked` it
/// is not swapped out either, within the system's limit on locked memory.
Buffer SecretBuffer(size_t size, bool locked = false);

/// The 32 bytes from which the keys of encrypted entries are derived. An object
/// is shared by pointer, never copied or moved, so ctxfs has only one copy of
/// the bytes. No message may contain them.
class MasterKey {
 public:
  static constexpr size_t kBytes = 32;

  /// `bytes` has kBytes bytes; the caller must wipe its own copy.
  explicit MasterKey(Bytes bytes);
  MasterKey(const MasterKey&) = delete;
  MasterKey& operator=(const MasterKey&) = delete;

  Bytes bytes() const { return bytes_.span(); }

 private:
  Buffer bytes_;
};

}  // namespace ctxfs
