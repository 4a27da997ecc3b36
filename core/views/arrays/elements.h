// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// What a dtype becomes where there is no bfloat16: float32, which has all its
/// values; any other stays.
constexpr DType Widened(DType dtype) {
  return dtype == DType::kBf16 ? DType::kF32 : dtype;
}

/// Bytes of a usual array's elements, and as many as `as` takes for them.
uint64_t BytesOf(const ArrayInfo& array);
uint64_t BytesOf(const ArrayInfo& array, DType as);

/// The elements of an array; kCorrupt when they are not as many bytes as its
/// shape says.
Result<Content> OpenElements(const ArrayInfo& array,
                             const ReadContext& context);

/// Those of 16-bit floats as float32: exact, and any window of them computed
/// from the same window of theirs.
Content WidenElements(DType from, const Content& elements);

/// The elements of an array among others, which stay readable when it is not:
/// what fails to open fails when it is read.
Content ElementsAmongOthers(const ArrayInfo& array, const ReadContext& context);

}  // namespace ctxfs
