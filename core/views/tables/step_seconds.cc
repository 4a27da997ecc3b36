// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/step_seconds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/numbers/float_window.h"
#include "core/views/arrays/elements.h"

namespace ctxfs {
namespace {

/// Returns value - first. Integers are subtracted exactly before the result is
/// rounded to a double.
template <typename T>
double Since(T value, T first) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value) - static_cast<double>(first);
  } else {
    using U = std::make_unsigned_t<T>;
    const auto apart = [](T more, T less) {
      return static_cast<double>(
          static_cast<U>(static_cast<U>(more) - static_cast<U>(less)));
    };
    return value >= first ? apart(value, first) : -apart(first, value);
  }
}

/// Stores the numbers in `bytes`, minus the number in `first`, if any, in
/// `numbers`.
void NumbersSince(DType dtype, Bytes bytes, Bytes first,
                  std::span<double> numbers) {
  VisitNumber(
      dtype,
      [&](auto zero) {
        using T = decltype(zero);
        const T base = first.empty() ? zero : LoadLe<T>(first.data());
        for (size_t i = 0; i < numbers.size(); ++i) {
          numbers[i] = Since(LoadLe<T>(bytes.data() + i * sizeof(T)), base);
        }
      },
      [] {});
}

/// A clock whose arrays are open.
struct OpenClock {
  StepClock clock;
  Content ticks;
  Content rate;
};

/// The factors of the time of a tick: tick * multiplier / divisor.
struct TickFactors {
  double multiplier;
  double divisor;
};

Result<TickFactors> FactorsOf(const OpenClock& open,
                              const ReadContext& context) {
  TickFactors factors{open.clock.multiplier, open.clock.divisor};
  if (!open.clock.rate) return factors;
  Buffer bytes(static_cast<size_t>(open.rate.size()));
  CTXFS_TRY(ReadInto(open.rate, 0, bytes.span(), context));
  double rate = 0;
  NumbersSince(open.clock.rate->dtype, bytes.span(), {}, {&rate, 1});
  if (!(rate > 0 && std::isfinite(rate))) {
    rate = std::numeric_limits<double>::quiet_NaN();
  }
  (open.clock.rate_is_period ? factors.multiplier : factors.divisor) = rate;
  return factors;
}

class StepSeconds final : public Transform {
 public:
  explicit StepSeconds(OpenClock open) : open_(std::move(open)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const TickFactors factors = CTXFS_TRY(FactorsOf(open_, context));
    return FillFloats<double>(
        offset, out, [&](uint64_t first, std::span<double> seconds) -> Status {
          CTXFS_TRY(ReadTicks(first, seconds, context));
          for (double& value : seconds) {
            value = value * factors.multiplier / factors.divisor;
          }
          return {};
        });
  }

  Status Verify(const ReadContext& context) const override {
    CTXFS_TRY(open_.rate.Verify(context));
    return open_.ticks.Verify(context);
  }

 private:
  Status ReadTicks(uint64_t first, std::span<double> ticks,
                   const ReadContext& context) const {
    if (!open_.clock.ticks) {
      for (double& tick : ticks) tick = static_cast<double>(first++);
      return {};
    }
    const DType dtype = open_.clock.ticks->dtype;
    const size_t width = DTypeSize(dtype);
    Buffer bytes(ticks.size() * width);
    CTXFS_TRY(ReadInto(open_.ticks, first * width, bytes.span(), context));
    Buffer base(open_.clock.from_first ? width : 0);
    CTXFS_TRY(ReadInto(open_.ticks, 0, base.span(), context));
    NumbersSince(dtype, bytes.span(), base.span(), ticks);
    return {};
  }

  const OpenClock open_;
};

Result<Content> OpenSeconds(const StepClock& clock, uint64_t steps,
                            const ReadContext& context) {
  OpenClock open{clock, {}, {}};
  if (clock.ticks) {
    Content ticks = CTXFS_TRY(OpenElements(*clock.ticks, context));
    open.ticks = std::move(ticks);
  }
  if (clock.rate) {
    Content rate = CTXFS_TRY(OpenElements(*clock.rate, context));
    open.rate = std::move(rate);
  }
  return Content(
      Computed{std::make_shared<const StepSeconds>(std::move(open)), 0},
      steps * sizeof(double));
}

class StepNumbers final : public Transform {
 public:
  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& /*context*/) const override {
    for (std::byte& byte : out) {
      const uint64_t step = offset / sizeof(step);
      byte = static_cast<std::byte>(step >> (8 * (offset % sizeof(step))));
      ++offset;
    }
    return {};
  }
};

}  // namespace

std::optional<ArrayInfo> SecondsOf(const Episode& episode) {
  if (!episode.clock.known()) return std::nullopt;
  return ArrayInfo{.name = "time",
                   .dtype = DType::kF64,
                   .shape = {episode.steps},
                   .open = [clock = episode.clock,
                            steps = episode.steps](const ReadContext& context) {
                     return OpenSeconds(clock, steps, context);
                   }};
}

ArrayInfo StepNumbersOf(const Episode& episode) {
  return {.name = "step",
          .dtype = DType::kI64,
          .shape = {episode.steps},
          .open = [steps = episode.steps](
                      const ReadContext& /*context*/) -> Result<Content> {
            return Content(Computed{std::make_shared<const StepNumbers>(), 0},
                           steps * sizeof(uint64_t));
          }};
}

}  // namespace ctxfs
