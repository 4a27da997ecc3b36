// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/shared_slots.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "core/io/io_error.h"

namespace ctxfs::remote {
namespace {

// The slots, and a byte for the state of each.
constexpr size_t kBytes = SharedSlots::kCount * (kGranuleBytes + 1);

}  // namespace

// Uses MAP_NORESERVE, because few mounts use all of the memory.
Result<SharedSlots> SharedSlots::Map(int file, int flags) {
  void* const bytes = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_NORESERVE | flags, file, 0);
  if (bytes == MAP_FAILED) return IoError("cannot share memory");
  // A core dump does not need these bytes, because the store has them.
  (void)::madvise(bytes, kBytes, MADV_DONTDUMP);
  return SharedSlots(static_cast<std::byte*>(bytes));
}

// This memory has neither a name nor a descriptor by which another process
// could map it.
Result<SharedSlots> SharedSlots::Make() { return Map(-1, MAP_ANONYMOUS); }

Result<SharedSlots> SharedSlots::MakeFile(Fd* file) {
  *file = Fd(::memfd_create("ctxfs", MFD_CLOEXEC));
  if (!file->ok() || ::ftruncate(file->get(), kBytes) != 0) {
    return IoError("cannot share memory");
  }
  return Map(file->get(), 0);
}

Result<SharedSlots> SharedSlots::OpenFile(const Fd& file) {
  struct stat found {};
  // Accessing a mapping past the end of its file raises SIGBUS.
  if (::fstat(file.get(), &found) != 0 ||
      found.st_size != static_cast<off_t>(kBytes)) {
    return Error{Code::kIo, "the memory to share is not there"};
  }
  return Map(file.get(), 0);
}

SharedSlots::SharedSlots(SharedSlots&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)) {}

SharedSlots::~SharedSlots() {
  if (bytes_ != nullptr) (void)::munmap(bytes_, kBytes);
}

}  // namespace ctxfs::remote
