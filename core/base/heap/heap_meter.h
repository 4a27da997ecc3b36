// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace ctxfs {

class HeapAllowance;

/// Bytes of heap that this thread has allocated minus those that it has freed.
/// In a program that links a counting operator new (fs/operator_new.cc), the
/// whole heap counts; in others, only large Buffers.
constinit inline thread_local int64_t thread_heap_bytes = 0;

/// The innermost allowance of this thread; null: none.
constinit inline thread_local HeapAllowance* thread_heap_allowance = nullptr;

/// Measures the heap that this thread has allocated and not freed since the
/// construction of this object; 0 if it has freed more.
class HeapMeter {
 public:
  uint64_t bytes() const {
    const int64_t bytes = thread_heap_bytes - start_;
    return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  }

 private:
  int64_t start_ = thread_heap_bytes;
};

/// In its scope, the heap of this thread is not measured and has no allowance.
/// For memory that does not belong to the measured work, such as cached blocks.
class UnmeteredHeap {
 public:
  UnmeteredHeap() = default;
  ~UnmeteredHeap() {
    thread_heap_bytes = start_;
    thread_heap_allowance = allowance_;
  }
  UnmeteredHeap(const UnmeteredHeap&) = delete;
  UnmeteredHeap& operator=(const UnmeteredHeap&) = delete;

 private:
  int64_t start_ = thread_heap_bytes;
  HeapAllowance* allowance_ = std::exchange(thread_heap_allowance, nullptr);
};

}  // namespace ctxfs
