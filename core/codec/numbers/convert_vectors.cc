// SPDX-License-Identifier: Apache-2.0
//
// The functions of convert.cc with vectors of eight floats, and with the same
// results bit for bit. Highway compiles this file once for each set of
// instructions (vector_targets.h).
#include "core/codec/numbers/vector_targets.h"
// Disables the targets above AVX2, which are not faster here: each longer
// vector would be stored to two cache lines, and the masks of AVX-512 take a
// tenth longer.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (CTXFS_DISABLED_TARGETS | (HWY_AVX2 - 1))

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/codec/numbers/convert_vectors.cc"
#include <hwy/foreach_target.h>
// Must be included after foreach_target.h, which selects the targets.
#include <hwy/highway.h>

#include <cmath>

#include "core/codec/numbers/convert.h"
#include "core/codec/numbers/vector_level.h"

HWY_BEFORE_NAMESPACE();
namespace ctxfs {
namespace HWY_NAMESPACE {
#if CTXFS_SCALAR_TARGET

size_t HalvesByVectors(Bytes /*in*/, MutableBytes /*out*/) { return 0; }

size_t BytesByVectors(Bytes /*in*/, float /*scale*/, float /*min*/,
                      MutableBytes /*out*/) {
  return 0;
}

#else
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 8> kFloats;
constexpr hn::RebindToSigned<decltype(kFloats)> kInts;
constexpr size_t kLanes = hn::MaxLanes(kFloats);

constexpr hn::Rebind<int16_t, decltype(kFloats)> kBits;
using Bits = hn::Vec<decltype(kBits)>;

/// Returns numbers that are above 0x7E00 only for signalling NaNs. For quiet
/// NaNs, the sum overflows and is negative.
HWY_INLINE Bits Rank(Bits halves) {
  const Bits size = hn::And(halves, hn::Set(kBits, 0x7FFF));
  return hn::Add(size, hn::Set(kBits, 0x200));
}

HWY_INLINE void StoreHalves(Bits halves, std::byte* to) {
  constexpr hn::Rebind<hwy::float16_t, decltype(kFloats)> kHalves;
  hn::StoreU(hn::PromoteTo(kFloats, hn::BitCast(kHalves, halves)), kFloats,
             reinterpret_cast<float*>(to));
}

}  // namespace

/// Returns the number of elements converted, a multiple of 2 * kLanes.
size_t HalvesByVectors(Bytes in, MutableBytes out) {
  constexpr size_t kStep = 2 * kLanes;
  const size_t count = in.size() / 2 / kStep * kStep;
  for (size_t i = 0; i < count; i += kStep) {
    const auto* from = reinterpret_cast<const int16_t*>(in.data() + 2 * i);
    std::byte* to = out.data() + 4 * i;
    const Bits first = hn::LoadU(kBits, from);
    const Bits second = hn::LoadU(kBits, from + kLanes);
    const Bits rank = hn::Max(Rank(first), Rank(second));
    if (!hn::AllFalse(kBits, hn::Gt(rank, hn::Set(kBits, 0x7E00)))) {
      // The instruction would make signalling NaNs quiet.
      HalvesToFloatsScalar(in.subspan(2 * i, 2 * kStep), {to, 4 * kStep});
      continue;
    }
    StoreHalves(first, to);
    StoreHalves(second, to + 4 * kLanes);
  }
  return count;
}

/// Returns the number of elements converted, a multiple of kLanes.
size_t BytesByVectors(Bytes in, float scale, float min, MutableBytes out) {
  constexpr hn::Rebind<uint8_t, decltype(kFloats)> kCodes;
  const auto scales = hn::Set(kFloats, scale);
  const auto mins = hn::Set(kFloats, min);
  const size_t count = in.size() / kLanes * kLanes;
  for (size_t i = 0; i < count; i += kLanes) {
    const auto codes =
        hn::LoadU(kCodes, reinterpret_cast<const uint8_t*>(in.data() + i));
    const auto numbers = hn::ConvertTo(kFloats, hn::PromoteTo(kInts, codes));
    const auto products = hn::Mul(numbers, scales);
    hn::StoreU(hn::Add(products, mins), kFloats,
               reinterpret_cast<float*>(out.data() + 4 * i));
  }
  return count;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace ctxfs
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ctxfs {

void HalvesToFloats(Bytes in, MutableBytes out) {
  const size_t done = CTXFS_BEST_KERNEL(HalvesByVectors)(in, out);
  HalvesToFloatsScalar(in.subspan(2 * done), out.subspan(4 * done));
}

void BytesToFloats(Bytes in, float scale, float min, MutableBytes out) {
  // If both are finite, no result is a NaN. Processors differ only in NaNs.
  const bool all_finite = std::isfinite(scale) && std::isfinite(min);
  const size_t done =
      all_finite ? CTXFS_BEST_KERNEL(BytesByVectors)(in, scale, min, out) : 0;
  BytesToFloatsScalar(in.subspan(done), scale, min, out.subspan(4 * done));
}

}  // namespace ctxfs
#endif
