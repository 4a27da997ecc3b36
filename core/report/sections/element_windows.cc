// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/element_windows.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/numbers/widen.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

template <typename T>
void Numbers(Bytes elements, std::span<double> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<double>(LoadLe<T>(elements.data() + i * sizeof(T)));
  }
}

void Floats(DType dtype, Bytes elements, std::span<double> to) {
  std::vector<float> floats(to.size());
  WidenToFloat(dtype, elements, floats);
  std::copy(floats.begin(), floats.end(), to.begin());
}

void ToDoubles(DType dtype, Bytes elements, std::span<double> to) {
  // A bool counts as its byte.
  VisitNumber(
      dtype == DType::kBool ? DType::kU8 : dtype,
      [&](auto zero) { Numbers<decltype(zero)>(elements, to); },
      [&] { Floats(dtype, elements, to); });
}

}  // namespace

Result<ElementWindows> ElementWindows::Open(const ArrayInfo& array,
                                            const ReadContext& context) {
  Content elements = CTXFS_TRY(OpenElements(array, context));
  // Reading no elements verifies nothing, and the checksum may be wrong.
  if (elements.size() == 0) {
    CTXFS_TRY(elements.Verify(context));
  }
  return ElementWindows(array.dtype, std::move(elements));
}

Result<std::span<const double>> ElementWindows::At(uint64_t first, size_t count,
                                                   const ReadContext& context) {
  CTXFS_TRY(context.Check());
  const size_t width = DTypeSize(dtype_);
  bytes_.resize(count * width);
  values_.resize(count);
  const MutableBytes bytes(bytes_.data(), bytes_.size());
  CTXFS_TRY(ReadInto(elements_, first * width, bytes, context));
  ToDoubles(dtype_, bytes, values_);
  return std::span<const double>(values_);
}

}  // namespace ctxfs
