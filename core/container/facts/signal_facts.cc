// SPDX-License-Identifier: Apache-2.0
#include "core/container/facts/signal_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/codec/numbers/half.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxReadBytes = 8 * limits::kMiB;

/// ", 0 to 1" for numbers stored as `Stored`, which `number` converts; empty if
/// none is finite.
template <typename Stored, typename Number>
std::string RangeOf(std::string_view bytes, const Number& number) {
  using Value = std::invoke_result_t<const Number&, Stored>;
  std::optional<std::pair<Value, Value>> range;
  for (size_t at = 0; at + sizeof(Stored) <= bytes.size();
       at += sizeof(Stored)) {
    const Value value = number(LoadLe<Stored>(AsBytes(bytes).data() + at));
    if constexpr (std::is_floating_point_v<Value>) {
      if (!std::isfinite(value)) continue;
    }
    if (!range) range = {value, value};
    range->first = std::min(range->first, value);
    range->second = std::max(range->second, value);
  }
  if (!range) return {};
  return fmt::format(", {} to {}", range->first, range->second);
}

/// The bits of a bfloat16 are the upper half of a float's.
float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16U);
}

/// The range of numbers of `dtype` (RangeOf); empty for a type without an
/// order.
std::string RangeText(DType dtype, std::string_view bytes) {
  if (dtype == DType::kF16) return RangeOf<uint16_t>(bytes, &HalfToFloat);
  if (dtype == DType::kBf16) return RangeOf<uint16_t>(bytes, &Bf16ToFloat);
  return VisitNumber(
      dtype,
      [bytes](auto zero) {
        return RangeOf<decltype(zero)>(
            bytes, [](decltype(zero) value) { return value; });
      },
      [] { return std::string(); });
}

/// The range of `array`, whose bytes are subtracted from `room`; empty if it
/// has more bytes than that, or after a permanent error, which a check reports.
Result<std::string> ReadRange(const ArrayInfo& array, uint64_t& room,
                              const ReadContext& context) {
  const Result<Content> content = array.open(context);
  if (!content) {
    if (content.error().Permanent()) return std::string();
    return content.error();
  }
  if (content->size() > room) return std::string();
  room -= content->size();
  const Result<std::string> bytes = ReadAll(*content, context);
  if (bytes) return RangeText(array.dtype, *bytes);
  if (bytes.error().Permanent()) return std::string();
  return bytes.error();
}

}  // namespace

Status AddSignals(const std::string& prefix,
                  const std::vector<ArrayInfo>& arrays,
                  const ReadContext& context, Facts& facts) {
  uint64_t room = kMaxReadBytes;
  for (const ArrayInfo& array : arrays) {
    CTXFS_TRY(context.Check());
    if (facts.full()) {
      facts.LeaveOut(1);
      continue;
    }
    facts.Add(prefix + array.name,
              ArrayText(DTypeName(array.dtype), array.shape) +
                  CTXFS_TRY(ReadRange(array, room, context)));
  }
  return {};
}

}  // namespace ctxfs
