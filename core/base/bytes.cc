// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <vector>

#include "core/base/heap/heap_meter.h"
#include "core/base/mutex.h"

namespace ctxfs {
namespace {

// Smaller Buffers use operator new, because the heap reuses small memory well.
// In the program ctxfs, malloc takes the memory of larger Buffers from mmap
// (fs/main.cc): otherwise evicted blocks would leave holes in the heap of each
// thread that decoded one.
constexpr size_t kLeast = size_t{128} << 10;
// Bytes of freed Buffers that are kept for new ones (BoundSpareMemory).
constexpr size_t kMaxSpare = size_t{32} << 20;

/// Recycles the memory of freed Buffers: the first touch of a new page costs
/// more than decoding into it.
class Spares {
 public:
  std::byte* Take(size_t capacity) {
    const MutexLock lock(mutex_);
    for (auto it = spares_.rbegin(); it != spares_.rend(); ++it) {
      if (it->capacity != capacity) continue;
      std::byte* const bytes = it->bytes;
      spares_.erase(std::next(it).base());
      kept_ -= capacity;
      return bytes;
    }
    return nullptr;
  }

  void Give(std::byte* bytes, size_t capacity) {
    std::vector<std::byte*> gone;
    {
      const MutexLock lock(mutex_);
      spares_.push_back({bytes, capacity});
      kept_ += capacity;
      while (kept_ > most_) {
        gone.push_back(spares_.front().bytes);
        kept_ -= spares_.front().capacity;
        spares_.erase(spares_.begin());
      }
    }
    for (std::byte* const one : gone) std::free(one);
  }

  void Bound(size_t bytes) {
    const MutexLock lock(mutex_);
    most_ = bytes;
  }

  void FreeAll() {
    std::vector<Spare> gone;
    {
      const MutexLock lock(mutex_);
      gone.swap(spares_);
      kept_ = 0;
    }
    for (const Spare& one : gone) std::free(one.bytes);
  }

 private:
  struct Spare {
    std::byte* bytes;
    size_t capacity;
  };
  Mutex mutex_;
  std::vector<Spare> spares_ CTXFS_GUARDED_BY(mutex_);  // oldest first
  size_t kept_ CTXFS_GUARDED_BY(mutex_) = 0;
  size_t most_ CTXFS_GUARDED_BY(mutex_) = kMaxSpare;
};

Spares& AllSpares() {
  static auto* const spares = new Spares;  // outlives every static Buffer
  return *spares;
}

/// Returns heap memory; null if the allocation fails. Asks the kernel to back
/// large memory with huge pages, which are faster than small ones.
std::byte* Allocate(size_t capacity) {
  constexpr size_t kHuge = size_t{2} << 20;
  auto* const bytes = static_cast<std::byte*>(std::malloc(capacity));
  if (bytes == nullptr || capacity < 4 * kHuge) return bytes;
  const size_t before = -reinterpret_cast<uintptr_t>(bytes) % kHuge;
  const size_t within = (capacity - before) / kHuge * kHuge;
  (void)::madvise(bytes + before, within, MADV_HUGEPAGE);
  return bytes;
}

/// Rounds `size` up by at most an eighth, so that Buffers of similar size can
/// reuse the same memory.
size_t CapacityFor(size_t size) {
  const size_t step = std::bit_floor(size) / 8;
  return (size + step - 1) / step * step;
}

}  // namespace

void FreeSpareMemory() { AllSpares().FreeAll(); }

void BoundSpareMemory(size_t bytes) {
  AllSpares().Bound(std::min(bytes, kMaxSpare));
}

Buffer::Buffer(size_t size) : size_(size) {
  if (size < kLeast) {
    bytes_ = {new std::byte[size], Release{}};
    return;
  }
  const size_t capacity = CapacityFor(size);
  std::byte* bytes = AllSpares().Take(capacity);
  if (bytes == nullptr) bytes = Allocate(capacity);
  if (bytes == nullptr) throw std::bad_alloc();
  thread_heap_bytes += static_cast<int64_t>(capacity);
  bytes_ = {bytes, Release{[](std::byte* spare, size_t room) {
                             thread_heap_bytes -= static_cast<int64_t>(room);
                             AllSpares().Give(spare, room);
                           },
                           capacity}};
}

Buffer BufferOf(std::string_view text) {
  Buffer buffer(text.size());
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(buffer.data()));
  return buffer;
}

}  // namespace ctxfs
