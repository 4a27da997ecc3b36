// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/testing/heap.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "core/base/heap/heap_meter.h"

namespace ctxfs {
namespace {

std::atomic<int64_t> g_bytes = 0;
// How many allocations still succeed; negative: all do.
thread_local int64_t t_until_failure = -1;
thread_local bool t_fired = false;
thread_local bool (*t_spares)() = nullptr;

void Count(int64_t bytes) {
  g_bytes.fetch_add(bytes, std::memory_order_relaxed);
  thread_heap_bytes += bytes;
  most_thread_heap_bytes = std::max(most_thread_heap_bytes, thread_heap_bytes);
}

void* Allocate(size_t size) noexcept {
  if (t_until_failure >= 0 && t_until_failure-- == 0) {
    t_fired = true;
    if (t_spares == nullptr || !t_spares()) return nullptr;
  }
  void* p = std::malloc(size == 0 ? 1 : size);
  if (p != nullptr) {
    Count(static_cast<int64_t>(malloc_usable_size(p)));
  }
  return p;
}

void* AllocateOrThrow(size_t size) {
  void* p = Allocate(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void Release(void* p) noexcept {
  if (p == nullptr) return;
  Count(-static_cast<int64_t>(malloc_usable_size(p)));
  std::free(p);
}

}  // namespace

int64_t HeapBytes() { return g_bytes.load(std::memory_order_relaxed); }

bool CountsHeap() {
  const int64_t before = HeapBytes();
  void* const bytes = ::operator new(1);
  const bool counted = HeapBytes() != before;
  ::operator delete(bytes);
  return counted;
}

FailingNew::FailingNew(int64_t after, bool (*spares)()) {
  t_fired = false;
  t_spares = spares;
  t_until_failure = after;
}

FailingNew::~FailingNew() { t_until_failure = -1; }

bool FailingNew::fired() const { return t_fired; }

}  // namespace ctxfs

void* operator new(size_t size) { return ctxfs::AllocateOrThrow(size); }
void* operator new[](size_t size) { return ctxfs::AllocateOrThrow(size); }
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return ctxfs::Allocate(size);
}
void* operator new[](size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return ctxfs::Allocate(size);
}
void operator delete(void* p) noexcept { ctxfs::Release(p); }
void operator delete[](void* p) noexcept { ctxfs::Release(p); }
void operator delete(void* p, size_t /*size*/) noexcept { ctxfs::Release(p); }
void operator delete[](void* p, size_t /*size*/) noexcept { ctxfs::Release(p); }
void operator delete(void* p, const std::nothrow_t& /*tag*/) noexcept {
  ctxfs::Release(p);
}
void operator delete[](void* p, const std::nothrow_t& /*tag*/) noexcept {
  ctxfs::Release(p);
}
