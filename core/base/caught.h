// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>

#include "core/base/mutex.h"
#include "core/base/result.h"

namespace ctxfs {

/// Returns the result of `work`, or the Error for the exception that it throws.
/// On purpose, core throws only std::bad_alloc; libraries may throw anything.
/// `work` must use scopes, so that an exception releases its locks and
/// reservations.
template <typename R, typename Work>
CTXFS_ANNOTATION(no_thread_safety_analysis)
R CatchAll(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{Code::kNoMemory, "out of memory"};
  } catch (...) {
    return Error{Code::kIo, "internal error"};
  }
}

}  // namespace ctxfs
