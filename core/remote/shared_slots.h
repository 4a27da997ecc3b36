// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/remote/messages.h"

namespace ctxfs::remote {

/// Memory that this process shares with the processes forked after it was made:
/// slots of a granule each. From a request to its reply only the fetcher uses
/// the slots that the request names, then only this process. Pages take memory
/// from their first use on.
class SharedSlots {
 public:
  static constexpr uint16_t kCount = 1024;  // 64 MiB

  /// Fails with kNoMemory.
  static Result<SharedSlots> Make();
  ~SharedSlots();
  SharedSlots(SharedSlots&& other) noexcept;
  SharedSlots& operator=(SharedSlots&&) = delete;

  /// `slot` is less than kCount.
  MutableBytes At(uint16_t slot) const {
    return {bytes_ + slot * kGranuleBytes, kGranuleBytes};
  }

 private:
  explicit SharedSlots(std::byte* bytes) : bytes_(bytes) {}

  std::byte* bytes_;
};

}  // namespace ctxfs::remote
