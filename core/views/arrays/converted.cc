// SPDX-License-Identifier: Apache-2.0
#include "core/views/arrays/converted.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "core/codec/numbers/float_window.h"
#include "core/codec/numbers/widen.h"
#include "core/content/strided.h"
#include "core/content/verdict.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

/// Rounds to the nearest float16: the converter adds float16 numbers, and
/// rounds each sum to float16 (docs/formats/gguf.md, section 12).
float RoundedToHalf(float value) {
  constexpr int kDigits = 11;
  constexpr int kLeastExponent = -13;
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int shift = kDigits - std::max(exponent, kLeastExponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, shift)), -shift);
}

/// Elements as float32, each with a number added.
class Added final : public Transform {
 public:
  Added(DType from, Content elements, float added)
      : from_(from), elements_(std::move(elements)), added_(added) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    return FillFloats(offset, out,
                      [&](uint64_t first, std::span<float> floats) {
                        return Fill(first, floats, context);
                      });
  }
  Status Verify(const ReadContext& context) const override {
    return elements_.Verify(context);
  }

 private:
  Status Fill(uint64_t first, std::span<float> floats,
              const ReadContext& context) const {
    const uint64_t width = DTypeSize(from_);
    Buffer stored(static_cast<size_t>(width) * floats.size());
    CTXFS_TRY(ReadInto(elements_, first * width, stored.span(), context));
    WidenToFloat(from_, stored.span(), floats);
    for (float& one : floats) {
      one += added_;
      if (from_ == DType::kF16) one = RoundedToHalf(one);
    }
    return {};
  }

  const DType from_;
  const Content elements_;
  const float added_;
};

std::optional<ArrayInfo> WithAdded(const ArrayInfo& array, float added) {
  const DType from = array.dtype;
  if (from != DType::kF32 && from != DType::kF16 && from != DType::kBf16) {
    return std::nullopt;
  }
  ArrayInfo result = array;
  result.dtype = DType::kF32;
  result.open = [array, added](const ReadContext& context) -> Result<Content> {
    const Content elements = CTXFS_TRY(OpenElements(array, context));
    return Content(
        Computed{std::make_shared<const Added>(array.dtype, elements, added),
                 0},
        BytesOf(array, DType::kF32));
  };
  return result;
}

/// Interleaves the halves of each head: row 2i of the result is row i of the
/// first half, and row 2i + 1 is row i of the second half.
std::optional<ArrayInfo> Interleaved(const ArrayInfo& array, uint64_t heads) {
  if (array.shape.empty() || IsPacked(array.dtype)) return std::nullopt;
  const uint64_t rows = array.shape.front();
  if (rows == 0 || rows / heads % 2 != 0 || rows % heads != 0) {
    return std::nullopt;
  }
  const uint64_t half = rows / heads / 2;
  const uint64_t columns = CountOf(array) / rows;
  StridedLayout layout{
      .width = static_cast<uint32_t>(DTypeSize(array.dtype)),
      .shape = {heads, half, 2, columns},
      .strides = {2 * half * columns, columns, half * columns, 1}};
  ArrayInfo result = array;
  result.open = [array, layout = std::move(layout), owner = NewOwner()](
                    const ReadContext& context) -> Result<Content> {
    const Content elements = CTXFS_TRY(OpenElements(array, context));
    return StridedContent({owner, 0}, elements, layout);
  };
  return result;
}

}  // namespace

std::optional<ArrayInfo> Converted(const ArrayInfo& array,
                                   const HubArray& how) {
  std::optional<ArrayInfo> result = array;
  if (how.heads != 0) result = Interleaved(*result, how.heads);
  if (result && how.added != 0) result = WithAdded(*result, how.added);
  return result;
}

}  // namespace ctxfs
