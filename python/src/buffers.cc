// SPDX-License-Identifier: Apache-2.0
#include "python/src/buffers.h"

#include <algorithm>
#include <cstring>

namespace ctxfs_python {
namespace {

// A read costs as much as copying some thousands of bytes.
constexpr uint64_t kGapWorthReading = 4096;
constexpr uint64_t kMaxAtOnce = 256 * 1024;  // bytes read together

/// Reads short runs through a buffer that later ones may be in, too.
class NearRuns {
 public:
  explicit NearRuns(const ReadBytes& read) : read_(read) {}

  /// Copies the run at `offset`. The runs up to `end` are worth reading with
  /// it.
  bool Copy(uint64_t offset, uint64_t run, uint64_t end, std::byte* into) {
    if (offset < start_ || offset + run > start_ + buffer_.size()) {
      buffer_.resize(std::max(run, std::min(end - offset, kMaxAtOnce)));
      start_ = offset;
      if (!read_(offset, buffer_.data(), buffer_.size())) return false;
    }
    std::memcpy(into, buffer_.data() + (offset - start_), run);
    return true;
  }

 private:
  const ReadBytes& read_;
  uint64_t start_ = 0;
  std::vector<std::byte> buffer_;
};

/// Advances `at`, an index for each step; false after the last.
bool Next(const std::vector<Step>& steps, std::vector<uint64_t>& at,
          uint64_t& offset) {
  for (size_t i = steps.size(); i-- > 0;) {
    offset += steps[i].stride;
    if (++at[i] < steps[i].count) return true;
    offset -= steps[i].count * steps[i].stride;
    at[i] = 0;
  }
  return false;
}

}  // namespace

WritableBuffer::WritableBuffer(nanobind::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &view_,
                         PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0) {
    throw nanobind::python_error();
  }
}

WritableBuffer::~WritableBuffer() { PyBuffer_Release(&view_); }

bool Window::Measure(uint64_t& bytes) const {
  bytes = run;
  for (const Step& step : steps) {
    if (__builtin_mul_overflow(bytes, step.count, &bytes)) return false;
  }
  return bytes <= INT64_MAX;
}

bool Gather(const Window& window, std::byte* into, const ReadBytes& read) {
  uint64_t bytes = 0;
  if (!window.Measure(bytes) || bytes == 0) return true;
  const Step last = window.steps.empty() ? Step{1, 0} : window.steps.back();
  const bool near = last.count > 1 && window.run < kMaxAtOnce &&
                    last.stride - window.run <= kGapWorthReading;
  NearRuns runs(read);
  std::vector<uint64_t> at(window.steps.size());
  uint64_t offset = window.offset;
  do {
    if (near) {
      const uint64_t left = last.count - 1 - at.back();
      const uint64_t end = offset + left * last.stride + window.run;
      if (!runs.Copy(offset, window.run, end, into)) return false;
    } else if (!read(offset, into, window.run)) {
      return false;
    }
    into += window.run;
  } while (Next(window.steps, at, offset));
  return true;
}

}  // namespace ctxfs_python
