// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The type that numpy can have for a dtype: float32 for bfloat16 and floats of
/// 8 bits, all of whose values it has; any other stays.
constexpr DType Widened(DType dtype) {
  return dtype == DType::kBf16 || IsFloat8(dtype) ? DType::kF32 : dtype;
}

/// Whether elements take less than a byte, so that numpy has no such type.
constexpr bool IsPacked(DType dtype) { return DTypeBits(dtype) < 8; }

/// Bytes of a usual array's elements, and as many as `as` takes for them. The
/// elements of a packed type are whole bytes together.
uint64_t BytesOf(const ArrayInfo& array);
uint64_t BytesOf(const ArrayInfo& array, DType as);

/// The elements of an array; kCorrupt when they are not as many bytes as its
/// shape says.
Result<Content> OpenElements(const ArrayInfo& array,
                             const ReadContext& context);

/// Those of 8- and 16-bit floats as float32: exact, and any window of them
/// computed from the same window of theirs.
Content WidenElements(DType from, const Content& elements);

/// The elements of an array among others, which stay readable when it is not:
/// what fails to open fails when it is read.
Content ElementsAmongOthers(const ArrayInfo& array, const ReadContext& context);

}  // namespace ctxfs
