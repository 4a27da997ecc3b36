// SPDX-License-Identifier: Apache-2.0
//
// Undoes the filters of arrays (docs/formats/zarr.md, section 4).
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "core/codec/numbers/half.h"
#include "core/formats/zarr/chain.h"
#include "core/formats/zarr/fill_value.h"

namespace ctxfs::zarr {
namespace {

/// A number of any type: the bits of an integer, or a float.
struct FilterValue {
  bool is_float = false;
  bool is_signed = false;
  uint64_t bits = 0;
  double value = 0;

  double AsDouble() const {
    if (is_float) return value;
    return is_signed ? static_cast<double>(static_cast<int64_t>(bits))
                     : static_cast<double>(bits);
  }
  /// As numpy converts: towards zero; what does not fit becomes the least.
  uint64_t AsBits() const {
    if (!is_float) return bits;
    constexpr double kEnd = 9223372036854775808.0;  // 2^63
    if (value >= kEnd && value < 2 * kEnd) return static_cast<uint64_t>(value);
    if (!(value >= -kEnd && value < kEnd)) return uint64_t{1} << 63;
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
};

uint64_t LoadBits(const std::byte* at, size_t size, bool big) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t shift = 8 * (big ? size - 1 - i : i);
    bits |= std::to_integer<uint64_t>(at[i]) << shift;
  }
  return bits;
}

void StoreBits(uint64_t bits, size_t size, bool big, std::byte* at) {
  for (size_t i = 0; i < size; ++i) {
    const size_t shift = 8 * (big ? size - 1 - i : i);
    at[i] = static_cast<std::byte>(bits >> shift);
  }
}

double FloatOf(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    case DType::kBf16:
      return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
    case DType::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

FilterValue Load(const FilterNumber& type, const std::byte* at) {
  const size_t size = DTypeSize(type.dtype);
  FilterValue number;
  number.bits = LoadBits(at, size, type.big);
  number.is_float = IsFloat(type.dtype);
  number.is_signed = IsSigned(type.dtype);
  if (number.is_float) number.value = FloatOf(type.dtype, number.bits);
  if (number.is_signed) {
    const auto unused = static_cast<int>(64 - 8 * size);
    number.bits = static_cast<uint64_t>(
        static_cast<int64_t>(number.bits << unused) >> unused);
  }
  return number;
}

/// The bits of a float of type `dtype`.
uint64_t BitsOfFloat(DType dtype, double value) {
  std::string bytes;
  AppendNumber(dtype, value, bytes);
  return LoadBits(AsBytes(bytes).data(), bytes.size(), /*big=*/false);
}

void Store(const FilterNumber& type, const FilterValue& number, std::byte* at) {
  uint64_t bits = 0;
  if (IsFloat(type.dtype)) {
    bits = BitsOfFloat(type.dtype, number.AsDouble());
  } else if (type.dtype == DType::kBool) {
    bits = (number.is_float ? number.value != 0 : number.bits != 0) ? 1 : 0;
  } else {
    bits = number.AsBits();
  }
  StoreBits(bits, DTypeSize(type.dtype), type.big, at);
}

/// Adds `more` to `sum`, both of type `dtype`, as numpy does in that type.
void Add(DType dtype, const FilterValue& more, FilterValue& sum) {
  if (IsFloat(dtype)) {
    const double exact = sum.AsDouble() + more.AsDouble();
    sum.is_float = true;
    // A sum of two floats32 as doubles, rounded, is the float32 sum.
    sum.value = FloatOf(dtype, BitsOfFloat(dtype, exact));
  } else {
    sum.is_float = false;
    sum.is_signed = more.is_signed;
    sum.bits += more.AsBits();
  }
}

/// `number` rounded to type `dtype`.
FilterValue In(DType dtype, const FilterValue& number) {
  std::byte bytes[sizeof(uint64_t)] = {};
  Store({dtype, false}, number, bytes);
  return Load({dtype, false}, bytes);
}

void UndoDelta(const Step& step, Bytes in, MutableBytes out) {
  const size_t from = DTypeSize(step.stored.dtype);
  const size_t to = DTypeSize(step.shown.dtype);
  FilterValue sum;
  const size_t count = out.size() / to;
  for (size_t i = 0; i < count; ++i) {
    const FilterValue more =
        In(step.shown.dtype, Load(step.stored, in.data() + i * from));
    if (i == 0) {
      sum = more;
    } else {
      Add(step.shown.dtype, more, sum);
    }
    Store(step.shown, sum, out.data() + i * to);
  }
}

/// numpy computes in float32 if the stored numbers are float32, and in float64
/// if they are integers.
void UndoScale(const Step& step, Bytes in, MutableBytes out) {
  const size_t from = DTypeSize(step.stored.dtype);
  const size_t to = DTypeSize(step.shown.dtype);
  const bool narrow = step.stored.dtype == DType::kF32;
  const size_t count = out.size() / to;
  for (size_t i = 0; i < count; ++i) {
    FilterValue number;
    number.is_float = true;
    const double value = Load(step.stored, in.data() + i * from).AsDouble();
    number.value =
        narrow ? static_cast<float>(value) / static_cast<float>(step.scale) +
                     static_cast<float>(step.offset)
               : value / step.scale + step.offset;
    Store(step.shown, number, out.data() + i * to);
  }
}

void UndoConvert(const Step& step, Bytes in, MutableBytes out) {
  const size_t from = DTypeSize(step.stored.dtype);
  const size_t to = DTypeSize(step.shown.dtype);
  const size_t count = out.size() / to;
  for (size_t i = 0; i < count; ++i) {
    Store(step.shown, Load(step.stored, in.data() + i * from),
          out.data() + i * to);
  }
}

void UndoSwap(const Step& step, Bytes in, MutableBytes out) {
  for (size_t i = 0; i + step.unit <= out.size(); i += step.unit) {
    std::reverse_copy(in.begin() + static_cast<ptrdiff_t>(i),
                      in.begin() + static_cast<ptrdiff_t>(i + step.unit),
                      out.begin() + static_cast<ptrdiff_t>(i));
  }
}

Status UndoPackBits(Bytes in, MutableBytes out) {
  const auto padding = std::to_integer<unsigned>(in[0]);
  if (padding > 7 || 8 * (in.size() - 1) != out.size() + padding) {
    return Error{Code::kCorrupt,
                 fmt::format("packbits: {} bits of padding are not those of {} "
                             "elements",
                             padding, out.size()),
                 0};
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = in[1 + i / 8] >> (7 - i % 8) & std::byte{1};
  }
  return {};
}

/// Copies the stored elements of an array whose axis d is axis order[d] of the
/// decoded one.
void UndoTranspose(const Step& step, Bytes in, MutableBytes out) {
  const size_t rank = step.shape.size();
  std::vector<uint64_t> strides(rank);  // of the decoded array, in bytes
  uint64_t stride = step.unit;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= step.shape[i];
  }
  std::vector<uint64_t> at(rank);  // of the stored element
  uint64_t to = 0;
  for (size_t from = 0; from < in.size(); from += step.unit) {
    std::memcpy(out.data() + to, in.data() + from, step.unit);
    for (size_t i = rank; i-- > 0;) {
      const uint64_t axis = step.order[i];
      to += strides[axis];
      if (++at[i] < step.shape[axis]) break;
      to -= strides[axis] * step.shape[axis];
      at[i] = 0;
    }
  }
}

/// Bytes before a step, of as many elements as `out` has.
uint64_t StoredBytes(const Step& step, uint64_t out) {
  switch (step.kind) {
    case StepKind::kDelta:
    case StepKind::kScale:
    case StepKind::kConvert:
      return out / DTypeSize(step.shown.dtype) * DTypeSize(step.stored.dtype);
    case StepKind::kPackBits:
      return 1 + out / 8 + (out % 8 == 0 ? 0 : 1);
    default:
      return out;
  }
}

}  // namespace

Status UndoFilter(const Step& step, Bytes in, MutableBytes out) {
  const uint64_t wanted = StoredBytes(step, out.size());
  if (in.size() != wanted) {
    return Error{
        Code::kCorrupt,
        fmt::format("{} bytes are there instead of {}", in.size(), wanted), 0};
  }
  switch (step.kind) {
    case StepKind::kTranspose:
      UndoTranspose(step, in, out);
      break;
    case StepKind::kSwap:
      UndoSwap(step, in, out);
      break;
    case StepKind::kDelta:
      UndoDelta(step, in, out);
      break;
    case StepKind::kScale:
      UndoScale(step, in, out);
      break;
    case StepKind::kConvert:
      UndoConvert(step, in, out);
      break;
    default:
      return UndoPackBits(in, out);
  }
  return {};
}

}  // namespace ctxfs::zarr
