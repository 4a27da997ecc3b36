// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ctxfs_python {

/// The bytes of a writable, contiguous object such as a bytearray or an array.
/// Made and destroyed with the GIL; the bytes may be used without it.
class WritableBuffer {
 public:
  explicit WritableBuffer(nanobind::handle object);
  ~WritableBuffer();
  WritableBuffer(const WritableBuffer&) = delete;
  WritableBuffer& operator=(const WritableBuffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

/// A dimension of a window: `count` steps of `stride` bytes.
struct Step {
  uint64_t count;
  uint64_t stride;
};

/// Runs of bytes at regular places in a file: `run` bytes at each combination
/// of `steps` from `offset` on, the last step varying fastest.
struct Window {
  uint64_t offset = 0;
  uint64_t run = 0;
  std::vector<Step> steps;

  /// Bytes of all runs; nothing if they are more than 2^63 - 1.
  bool Measure(uint64_t& bytes) const;
};

/// Reads all of `length` bytes at `offset`; returns whether it could.
using ReadBytes =
    std::function<bool(uint64_t offset, std::byte* into, size_t length)>;

/// Puts the runs of `window` one after the other into `into`, which has room.
/// Runs that are near each other are read together, with what is between them.
/// Returns false as soon as `read` does.
bool Gather(const Window& window, std::byte* into, const ReadBytes& read);

}  // namespace ctxfs_python
