// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The test program's operator new: it counts, and fails when told to.
namespace ctxfs {

/// Bytes that operator new has given out and not got back.
int64_t HeapBytes();

/// The most bytes that this thread has had since it was set, as HeapMeter
/// counts them: large Buffers when something else is allocated after them.
inline thread_local int64_t most_thread_heap_bytes = 0;

/// Whether they are counted: the thread sanitizer has its own operator new.
bool CountsHeap();

/// While it lives, lets `after` calls of operator new in this thread succeed,
/// and makes the one after them throw std::bad_alloc. Calls for which `spares`
/// returns true do not throw; it is called from within operator new.
class FailingNew {
 public:
  explicit FailingNew(int64_t after, bool (*spares)() = nullptr);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  /// Whether that allocation has come.
  bool fired() const;
};

}  // namespace ctxfs
