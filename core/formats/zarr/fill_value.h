// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/formats/zarr/element_type.h"

namespace ctxfs::zarr {

/// Returns one element of a fill value (docs/formats/zarr.md, section 6): its
/// bytes, little-endian; for lines, the text itself. `value` may be null, which
/// v2 calls undefined: the element is then zeros. Fails with kCorrupt if the
/// value does not fit the type.
Result<std::string> FillElement(const ElementType& type, const Json& value);

/// Returns the bits of the float16 that is nearest to `value`, ties to even.
uint16_t HalfOf(double value);

/// Appends `value` as a float of type `dtype`, little-endian.
void AppendNumber(DType dtype, double value, std::string& bytes);

}  // namespace ctxfs::zarr
