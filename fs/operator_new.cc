// SPDX-License-Identifier: Apache-2.0
//
// The operator new of the program: malloc, counted by thread, so that the
// memory of open containers can be bounded (HeapMeter). The other forms of new
// and delete call these two. Sanitizers have all forms themselves.
#include "core/base/sanitized.h"

#if !CTXFS_SANITIZED

#include <malloc.h>

#include <cstdlib>
#include <new>

#include "core/base/heap/heap_meter.h"

namespace {

/// Heap bytes of an allocation, with the word that malloc keeps before it: a
/// third more for the smallest ones.
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
