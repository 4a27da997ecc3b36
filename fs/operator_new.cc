// SPDX-License-Identifier: Apache-2.0
//
// The program's operator new and delete. They call malloc and free, and count
// the heap bytes of each thread. HeapMeter uses the count to bound the memory
// of open containers. The other forms of new and delete call these, except
// those for over-aligned types, which are not counted. Sanitizers define all
// forms themselves.
#include "core/base/sanitized.h"

#if !CTXFS_SANITIZED

#include <malloc.h>

#include <cstdlib>
#include <new>

#include "core/base/heap/heap_meter.h"

namespace {

/// Heap bytes of an allocation, including malloc's header word, which adds a
/// third to the smallest allocations.
int64_t HeapBytes(void* bytes) {
  return static_cast<int64_t>(malloc_usable_size(bytes) + sizeof(size_t));
}

}  // namespace

void* operator new(size_t size) {
  void* const bytes = std::malloc(size == 0 ? 1 : size);
  if (bytes == nullptr) throw std::bad_alloc();
  ctxfs::thread_heap_bytes += HeapBytes(bytes);
  return bytes;
}

void operator delete(void* bytes) noexcept {
  if (bytes == nullptr) return;
  ctxfs::thread_heap_bytes -= HeapBytes(bytes);
  std::free(bytes);
}

void operator delete(void* bytes, size_t /*size*/) noexcept {
  operator delete(bytes);
}

#endif
