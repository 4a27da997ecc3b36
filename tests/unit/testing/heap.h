// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The test program's operator new: it counts, and fails when told to.
namespace ctxfs {

/// Bytes that operator new has given out and not got back.
int64_t HeapBytes();

/// Whether they are counted: the thread sanitizer has its own operator new.
bool CountsHeap();

/// While it lives, the thread's next operator new but `after` throws
/// std::bad_alloc, and that one alone; unless `spares`, which is asked from
/// within it, says that its caller is to be spared.
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
