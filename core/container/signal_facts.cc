// SPDX-License-Identifier: Apache-2.0
#include "core/container/signal_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMostReadBytes = 8 * limits::kMiB;

template <typename T>
std::optional<std::pair<T, T>> RangeOf(std::string_view bytes) {
  std::optional<std::pair<T, T>> range;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T value = LoadLe<T>(AsBytes(bytes).data() + at);
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) continue;
    }
    if (!range) range = {value, value};
    range->first = std::min(range->first, value);
    range->second = std::max(range->second, value);
  }
  return range;
}

/// ", 0 to 1"; empty for a type that has no order or no number.
std::string RangeText(DType dtype, std::string_view bytes) {
  return VisitNumber(
      dtype,
      [bytes](auto zero) -> std::string {
        const auto range = RangeOf<decltype(zero)>(bytes);
        if (!range) return {};
        return fmt::format(", {} to {}", range->first, range->second);
      },
      [] { return std::string(); });
}

/// Nothing if it cannot be read for good: a check reports that.
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
  uint64_t room = kMostReadBytes;
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
