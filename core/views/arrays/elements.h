// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Returns the dtype of an array in numpy views: float32 for bfloat16 and 8-bit
/// floats, which numpy lacks and float32 represents exactly; other dtypes
/// unchanged.
constexpr DType Widened(DType dtype) {
  return dtype == DType::kBf16 || IsFloat8(dtype) ? DType::kF32 : dtype;
}

/// Whether elements take less than a byte. numpy has no such type.
constexpr bool IsPacked(DType dtype) { return DTypeBits(dtype) < 8; }

/// Returns the bytes of all elements of a usual array (IsUsual), as stored or
/// converted to `as`. Does not count a last byte that elements of a packed type
/// fill only partly.
uint64_t BytesOf(const ArrayInfo& array);
uint64_t BytesOf(const ArrayInfo& array, DType as);

/// Opens an array's elements; kCorrupt if size and shape disagree.
Result<Content> OpenElements(const ArrayInfo& array,
                             const ReadContext& context);

/// Converts 8- or 16-bit floats to float32, exactly. Reading a window reads
/// only the elements it needs.
Content WidenElements(DType from, const Content& elements);

/// Returns the elements of an array that shares a file with other arrays. If
/// the array cannot be opened, reading its elements fails; those of the other
/// arrays stay readable.
Content ElementsAmongOthers(const ArrayInfo& array, const ReadContext& context);

}  // namespace ctxfs
