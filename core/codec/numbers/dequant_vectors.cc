// SPDX-License-Identifier: Apache-2.0
//
// The kernels of dequant.cc with vectors, and with the same results bit for
// bit. Highway compiles this file once for each set of instructions
// (vector_targets.h).
//
// For codes of fewer than 8 bits, a vector has up to sixteen floats, because
// unpacking such codes costs more than storing floats. For codes of 8 bits, a
// vector has up to eight floats: sixteen floats would be stored to two cache
// lines each time.
#include "core/codec/numbers/vector_targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/codec/numbers/dequant_vectors.cc"
#include <hwy/foreach_target.h>
// Must be included after foreach_target.h, which selects the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "core/codec/numbers/dequant.h"
#include "core/codec/numbers/vector_level.h"

HWY_BEFORE_NAMESPACE();
namespace ctxfs {
namespace HWY_NAMESPACE {
#if CTXFS_SCALAR_TARGET

const DequantKernels* Kernels() { return &kScalarDequant; }

#else
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kGroup = 8;  // codes, which fill whole bytes
constexpr hn::CappedTag<float, kGroup> kFloats;
constexpr hn::CappedTag<float, 2 * kGroup> kManyFloats;
constexpr hn::RebindToSigned<decltype(kManyFloats)> kInts;
using Ints = hn::Vec<decltype(kInts)>;

/// The vectors for codes of `kBits` bits.
template <unsigned kBits>
using FloatsOf =
    std::conditional_t<kBits == 8, decltype(kFloats), decltype(kManyFloats)>;

constexpr size_t kLanes = hn::MaxLanes(kInts);

/// The bits of the eight codes at `p`.
template <unsigned kBits>
HWY_INLINE int32_t Word(const std::byte* p) {
  if constexpr (kBits == 2) {
    return LoadLe<uint16_t>(p);
  } else if constexpr (kBits == 3) {
    return LoadLe<uint16_t>(p) | std::to_integer<int32_t>(p[2]) << 16;
  } else {
    static_assert(kBits == 4);
    return LoadLe<int32_t>(p);
  }
}

/// Number of bits above code `i` in a 32-bit lane with a word of codes.
template <unsigned kBits>
constexpr int32_t ShiftOf(size_t i) {
  return static_cast<int32_t>(32 - kBits * (i + 1));
}

/// Implements AtTop for vectors of at most one group, if one word has all codes
/// of a group.
template <unsigned kBits, size_t kFirst>
HWY_INLINE Ints AtTopOfWords(const std::byte* block) {
  alignas(64) static constexpr auto kShifts = [] {
    std::array<int32_t, kLanes> shifts{};
    for (size_t i = 0; i < kLanes; ++i) {
      shifts[i] = ShiftOf<kBits>(kFirst % kGroup + i);
    }
    return shifts;
  }();
  const int32_t word = Word<kBits>(block + kFirst / kGroup * kBits);
  return hn::Shl(hn::Set(kInts, word), hn::Load(kInts, kShifts.data()));
}

/// Returns a vector of the bytes [kFrom, kFrom + kSize) of a block, repeated.
/// kSize is 8 or 16.
template <size_t kFrom, size_t kSize>
HWY_INLINE auto Repeated(const std::byte* block) {
  constexpr hn::Repartition<uint8_t, decltype(kInts)> kBytes;
  if constexpr (kSize == 16) {
    return hn::LoadDup128(kBytes,
                          reinterpret_cast<const uint8_t*>(block + kFrom));
  } else {
    constexpr hn::Repartition<uint64_t, decltype(kInts)> kQuads;
    return hn::BitCast(kBytes,
                       hn::Set(kQuads, LoadLe<uint64_t>(block + kFrom)));
  }
}

/// Implements AtTop for other vectors: each lane takes the two bytes that
/// contain its code.
template <unsigned kBits, size_t kFirst>
HWY_INLINE Ints AtTopOfBytes(const std::byte* block) {
  // The bytes [kFrom, kFrom + kSize) contain all codes of the vector, and are
  // within the block, so that nothing beyond it is read.
  constexpr size_t kSize = kBits * kLanes > 64 ? 16 : 8;
  constexpr size_t kStart = kFirst * kBits / 8;
  constexpr size_t kFrom = std::min(kStart, BlockBytes(kBits) - kSize);
  alignas(64) static constexpr auto kPlaces = [] {
    std::array<uint8_t, sizeof(int32_t) * kLanes> places{};
    for (size_t i = 0; i < places.size(); ++i) {
      const size_t place = kStart - kFrom + i / 4 * kBits / 8 + i % 2;
      places[i] = static_cast<uint8_t>(std::min(place, kSize - 1));
    }
    return places;
  }();
  alignas(64) static constexpr auto kShifts = [] {
    std::array<int32_t, kLanes> shifts{};
    for (size_t i = 0; i < kLanes; ++i) {
      shifts[i] = static_cast<int32_t>(32 - kBits - i * kBits % 8);
    }
    return shifts;
  }();
  constexpr hn::Repartition<uint8_t, decltype(kInts)> kBytes;
  const auto words = hn::TableLookupBytes(Repeated<kFrom, kSize>(block),
                                          hn::Load(kBytes, kPlaces.data()));
  return hn::Shl(hn::BitCast(kInts, words), hn::Load(kInts, kShifts.data()));
}

/// Returns the bits of the codes [kFirst, kFirst + kLanes) of a block, each at
/// the top of its lane.
template <unsigned kBits, size_t kFirst>
HWY_INLINE Ints AtTop(const std::byte* block) {
  if constexpr (kBits <= 4 && kLanes <= kGroup) {
    return AtTopOfWords<kBits, kFirst>(block);
  } else {
    return AtTopOfBytes<kBits, kFirst>(block);
  }
}

/// Signed bytes as floats.
HWY_INLINE hn::Vec<decltype(kFloats)> OfBytes(const int8_t* p) {
  constexpr hn::Rebind<int8_t, decltype(kFloats)> kBytes;
  constexpr hn::RebindToSigned<decltype(kFloats)> kNumbers;
  return hn::ConvertTo(kFloats, hn::PromoteTo(kNumbers, hn::LoadU(kBytes, p)));
}

/// The codes of a block from `kFirst` on, as floats.
template <unsigned kBits, size_t kFirst>
HWY_INLINE hn::Vec<FloatsOf<kBits> > Codes(const std::byte* block) {
  if constexpr (kBits == 8) {
    return OfBytes(reinterpret_cast<const int8_t*>(block + kFirst));
  } else {
    // Sign extension: shifts each code down from the top of its lane.
    return hn::ConvertTo(
        kManyFloats, hn::ShiftRight<32 - kBits>(AtTop<kBits, kFirst>(block)));
  }
}

template <typename D>
HWY_INLINE void Store(D floats, hn::Vec<D> values, std::byte* out) {
  const auto nan = hn::Set(floats, std::bit_cast<float>(kDequantNan));
  // Uses Eq, because on some processors Ne is false for a NaN.
  hn::StoreU(hn::IfThenElse(hn::Eq(values, values), values, nan), floats,
             reinterpret_cast<float*>(out));
}

/// Writes value(codes) for all codes of a block, one vector of codes after the
/// other.
template <unsigned kBits, size_t kFirst = 0, typename Value>
HWY_INLINE void EachOfBlock(const std::byte* block, std::byte* out,
                            const Value& value) {
  if constexpr (kFirst < kBlockCodes) {
    constexpr FloatsOf<kBits> kTo;
    Store(kTo, value(Codes<kBits, kFirst>(block)),
          out + kFirst * sizeof(float));
    EachOfBlock<kBits, kFirst + hn::MaxLanes(kTo)>(block, out, value);
  }
}

template <unsigned kBits>
void BlocksOf(const std::byte* codes, const float* scales, size_t count,
              std::byte* out) {
  constexpr FloatsOf<kBits> kTo;
  for (size_t i = 0; i < count; ++i) {
    const auto scale = hn::Set(kTo, scales[i]);
    const auto is_zero = hn::Eq(scale, hn::Zero(kTo));
    EachOfBlock<kBits>(codes, out, [&](auto numbers) HWY_ATTR {
      return hn::IfThenZeroElse(is_zero, hn::Mul(numbers, scale));
    });
    codes += BlockBytes(kBits);
    out += kBlockFloatBytes;
  }
}

void Blocks(unsigned bits, const std::byte* codes, const float* scales,
            size_t count, std::byte* out) {
  switch (bits) {
    case 2:
      return BlocksOf<2>(codes, scales, count, out);
    case 3:
      return BlocksOf<3>(codes, scales, count, out);
    case 4:
      return BlocksOf<4>(codes, scales, count, out);
    case 6:
      return BlocksOf<6>(codes, scales, count, out);
    default:
      return BlocksOf<8>(codes, scales, count, out);
  }
}

template <unsigned kBits>
void AffineOf(const std::byte* codes, float scale, float zero, size_t count,
              std::byte* out) {
  constexpr FloatsOf<kBits> kTo;
  const auto scales = hn::Set(kTo, scale);
  const auto zeros = hn::Set(kTo, zero);
  for (size_t i = 0; i < count; ++i) {
    EachOfBlock<kBits>(codes, out, [&](auto numbers) HWY_ATTR {
      return hn::Mul(scales, hn::Sub(numbers, zeros));
    });
    codes += BlockBytes(kBits);
    out += kBlockFloatBytes;
  }
}

void Affine(unsigned bits, const std::byte* codes, float scale, float zero,
            size_t count, std::byte* out) {
  if (bits == 4) return AffineOf<4>(codes, scale, zero, count, out);
  return AffineOf<8>(codes, scale, zero, count, out);
}

template <bool kAdds>
void GroupedOf(const int8_t* codes, const float* scales, const float* adds,
               size_t count, size_t group, std::byte* out) {
  constexpr size_t kStep = hn::MaxLanes(kFloats);
  for (size_t g = 0; g < count / group; ++g) {
    const auto scale = hn::Set(kFloats, scales[g]);
    const auto add = hn::Set(kFloats, kAdds ? adds[g] : 0);
    for (size_t i = 0; i < group; i += kStep) {
      const auto products = hn::Mul(OfBytes(codes), scale);
      Store(kFloats, kAdds ? hn::Add(products, add) : products, out);
      codes += kStep;
      out += kStep * sizeof(float);
    }
  }
}

void Grouped(const int8_t* codes, const float* scales, const float* adds,
             size_t count, size_t group, std::byte* out) {
  if (adds != nullptr) {
    return GroupedOf<true>(codes, scales, adds, count, group, out);
  }
  return GroupedOf<false>(codes, scales, adds, count, group, out);
}

constexpr DequantKernels kKernels{&Blocks, &Affine, &Grouped};

}  // namespace

const DequantKernels* Kernels() { return &kKernels; }

#endif
}  // namespace HWY_NAMESPACE
}  // namespace ctxfs
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ctxfs {

const DequantKernels& FastestDequant() { return *CTXFS_BEST_KERNEL(Kernels)(); }

}  // namespace ctxfs
#endif
