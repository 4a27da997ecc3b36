// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Memory that this process shares with a fetcher, in slots of a granule each.
/// From a request to its reply, only the fetcher uses the slots of the request.
/// After that, both may read a slot while IsBeingCached; at all other times,
/// only this process uses it. Pages take memory from their first use on.
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

  /// Whether the fetcher still reads the slot, to write it to the cache.
  bool IsBeingCached(uint16_t slot) const {
    return StateOf(slot).load(std::memory_order_acquire) != 0;
  }
  void SetBeingCached(uint16_t slot, bool cached) const {
    StateOf(slot).store(cached ? 1 : 0, std::memory_order_release);
  }

 private:
  std::atomic_ref<uint8_t> StateOf(uint16_t slot) const {
    std::byte* const states = bytes_ + kCount * kGranuleBytes;
    return std::atomic_ref(reinterpret_cast<uint8_t&>(states[slot]));
  }

  explicit SharedSlots(std::byte* bytes) : bytes_(bytes) {}
  static Result<SharedSlots> Map(int file, int flags);

  std::byte* bytes_;
};

}  // namespace ctxfs::remote
