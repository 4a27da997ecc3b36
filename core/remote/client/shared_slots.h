// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Memory that this process shares with a fetcher, in slots of a granule each.
/// From a request to its reply, only the fetcher uses the slots of the request;
/// at all other times, only this process uses them. Pages take memory from
/// their first use on.
class SharedSlots {
 public:
  static constexpr uint16_t kCount = 1024;  // 64 MiB

  /// Makes memory that is shared with processes forked later. Fails with
  /// kNoMemory.
  static Result<SharedSlots> Make();
  /// Creates `file`. The memory is shared with a process that calls OpenFile
  /// for it.
  static Result<SharedSlots> MakeFile(Fd* file);
  static Result<SharedSlots> OpenFile(const Fd& file);
  ~SharedSlots();
  SharedSlots(SharedSlots&& other) noexcept;
  SharedSlots& operator=(SharedSlots&&) = delete;

  /// `slot` must be less than kCount.
  MutableBytes At(uint16_t slot) const {
    return {bytes_ + slot * kGranuleBytes, kGranuleBytes};
  }

 private:
  explicit SharedSlots(std::byte* bytes) : bytes_(bytes) {}
  static Result<SharedSlots> Map(int file, int flags);

  std::byte* bytes_;
};

}  // namespace ctxfs::remote
