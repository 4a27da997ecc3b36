// SPDX-License-Identifier: Apache-2.0
#include "core/container/facts/signal_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/content/content.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// What is said of a signal of numbers of 16 bits.
std::string SaidOf(DType dtype, const std::vector<uint16_t>& numbers) {
  std::string bytes;
  for (const uint16_t number : numbers) AppendLe(number, bytes);
  ArrayInfo array;
  array.name = "signal";
  array.dtype = dtype;
  array.shape = {numbers.size()};
  array.open = [bytes](const ReadContext& /*context*/) -> Result<Content> {
    return LiteralContent(bytes);
  };
  Facts facts;
  EXPECT_TRUE(Ok(AddSignals("", {array}, LoneContext(), facts)));
  return facts.all().front().value.get<std::string>();
}

TEST(SignalFacts, RangesAreThoseOfFiniteNumbersOfEachType) {
  EXPECT_EQ(SaidOf(DType::kI16, {3, 0xFFFF, 7}), "i16 [3], -1 to 7");
  EXPECT_EQ(SaidOf(DType::kU16, {3, 0xFFFF, 7}), "u16 [3], 3 to 65535");
  // 1, -2, infinity, NaN
  EXPECT_EQ(SaidOf(DType::kF16, {0x3C00, 0xC000, 0x7C00, 0x7E00}),
            "f16 [4], -2 to 1");
  EXPECT_EQ(SaidOf(DType::kBf16, {0x3F80, 0xC000, 0x7F80, 0x7FC0}),
            "bf16 [4], -2 to 1");
  EXPECT_EQ(SaidOf(DType::kBf16, {0x7F80}), "bf16 [1]");
}

}  // namespace
}  // namespace ctxfs
