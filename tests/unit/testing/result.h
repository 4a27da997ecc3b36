// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "core/base/result.h"

namespace ctxfs {

constexpr uint64_t kAnyOffset = UINT64_MAX - 1;

template <typename T>
::testing::AssertionResult Ok(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess() << "it succeeded";
  return ::testing::AssertionFailure()
         << "code " << static_cast<int>(result.error().code) << ", "
         << result.error().Text();
}

/// Whether `result` is an Error of `code` that points at byte `offset`.
template <typename T>
::testing::AssertionResult Fails(const Result<T>& result, Code code,
                                 uint64_t offset = kAnyOffset) {
  if (result) return ::testing::AssertionFailure() << "it succeeded";
  const Error& error = result.error();
  if (error.code == code && (offset == kAnyOffset || error.offset == offset)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "code " << static_cast<int>(error.code) << ", " << error.Text();
}

}  // namespace ctxfs
