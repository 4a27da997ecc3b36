// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "core/base/mutex.h"

namespace ctxfs {

/// Calls a function at every exit from the scope. The function must not throw.
template <typename Function>
class [[nodiscard]] OnExit {
 public:
  explicit OnExit(Function function) : function_(std::move(function)) {}
  CTXFS_ANNOTATION(no_thread_safety_analysis)
  ~OnExit() { function_(); }
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;

 private:
  const Function function_;
};

}  // namespace ctxfs
