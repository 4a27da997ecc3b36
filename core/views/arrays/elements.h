// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Returns the type of an array in views for numpy: float32 for bfloat16 and
/// 8-bit floats, which numpy lacks and which float32 represents exactly; any
/// other dtype unchanged.
constexpr DType Widened(DType dtype) {
  return dtype == DType::kBf16 || IsFloat8(dtype) ? DType::kF32 : dtype;
}

/// Whether elements take less than a byte. numpy has no such type.
constexpr bool IsPacked(DType dtype) { return DTypeBits(dtype) < 8; }

/// Returns the bytes of the elements of a usual array (IsUsual), as stored or
/// converted to `as`. Those of a packed type fill whole bytes together.
uint64_t BytesOf(const ArrayInfo& array);
uint64_t BytesOf(const ArrayInfo& array, DType as);

/// Opens the elements of an array. Fails with kCorrupt if they have another
/// size than the shape requires.
Result<Content> OpenElements(const ArrayInfo& array,
                             const ReadContext& context);

/// Returns elements that are 8- or 16-bit floats as float32, which is exact. A
/// window is computed from the same elements of `elements`.
Content WidenElements(DType from, const Content& elements);

/// Returns the elements of an array that shares a file with others. If it
/// cannot be opened, reading it fails, and the others stay readable.
Content ElementsAmongOthers(const ArrayInfo& array, const ReadContext& context);

}  // namespace ctxfs
