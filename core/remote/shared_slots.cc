// SPDX-License-Identifier: Apache-2.0
#include "core/remote/shared_slots.h"

#include <sys/mman.h>

#include <utility>

#include "core/io/io_error.h"

namespace ctxfs::remote {
namespace {

constexpr size_t kBytes = SharedSlots::kCount * kGranuleBytes;

}  // namespace

// Anonymous: no name and no descriptor by which another process could map it.
// MAP_NORESERVE, as few mounts use all of it.
Result<SharedSlots> SharedSlots::Make() {
  void* const bytes = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) return IoError("cannot share memory");
  // The bytes are in the store.
  (void)::madvise(bytes, kBytes, MADV_DONTDUMP);
  return SharedSlots(static_cast<std::byte*>(bytes));
}

SharedSlots::SharedSlots(SharedSlots&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)) {}

SharedSlots::~SharedSlots() {
  if (bytes_ != nullptr) (void)::munmap(bytes_, kBytes);
}

}  // namespace ctxfs::remote
