// SPDX-License-Identifier: Apache-2.0
#include "core/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ctxfs {
namespace {

constexpr const char* kMessage = "a Result was not tested before it was used";

// In every build, also in one without assertions of the library.
TEST(ResultDeathTest, Item28_19_AnErrorIsNotUsedAsAValue) {
  Result<std::string> failed = Error{Code::kCorrupt, "it"};
  const Result<std::string>& same = failed;
  EXPECT_DEATH((void)(*failed).size(), kMessage);
  EXPECT_DEATH((void)(*same).size(), kMessage);
  EXPECT_DEATH((void)failed->size(), kMessage);
  EXPECT_DEATH((void)same->size(), kMessage);
  EXPECT_DEATH((void)std::string(*std::move(failed)), kMessage);
}

TEST(ResultDeathTest, Item28_19_AValueIsNotUsedAsAnError) {
  Result<int> good = 1;
  EXPECT_DEATH((void)good.error().what.size(), kMessage);
  EXPECT_DEATH((void)std::move(good).error().what.size(), kMessage);
  Status done;
  EXPECT_DEATH((void)done.error().what.size(), kMessage);
  EXPECT_DEATH((void)std::move(done).error().what.size(), kMessage);
}

TEST(Result, GivesWhatItHolds) {
  Result<std::unique_ptr<int>> held = std::make_unique<int>(7);
  ASSERT_TRUE(held);
  EXPECT_EQ(**held, 7);
  EXPECT_EQ(*held->get(), 7);
  const std::unique_ptr<int> moved = *std::move(held);
  EXPECT_EQ(*moved, 7);
  Status failed = Error{Code::kLimit, "it", 3};
  EXPECT_EQ(failed.error().Text(), "byte 3: it");
  EXPECT_EQ(std::move(failed).error().what, "it");
}

/// Counts how often it is moved; cannot be copied.
struct Moved {
  explicit Moved(int* counter) : moves(counter) {}
  Moved(Moved&& other) noexcept : moves(other.moves) { ++*moves; }

  int* moves;
};

Result<int> Half(int number) {
  if (number % 2 != 0) return Error{Code::kCorrupt, "odd", 5};
  return number / 2;
}

Status CheckEven(int number) {
  CTXFS_TRY(Half(number));
  return {};
}

/// Of other types than the Results that it tries.
Result<std::unique_ptr<std::string>> Text(int number) {
  CTXFS_TRY(CheckEven(number));
  const int half = CTXFS_TRY(Half(number));
  int quarter = 0;
  quarter = CTXFS_TRY(Half(CTXFS_TRY(Half(number))));
  return std::make_unique<std::string>(std::to_string(half) + " " +
                                       std::to_string(quarter));
}

TEST(Try, Item29_2_GivesTheValueOrReturnsTheError) {
  const auto text = Text(12);
  ASSERT_TRUE(text);
  EXPECT_EQ(**text, "6 3");
  const auto odd = Text(7);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().Text(), "byte 5: odd");
  EXPECT_FALSE(Text(14)) << "the inner of two succeeds, the outer fails";
}

TEST(Try, Item29_2_TheValueIsMovedOutAndNeverCopied) {
  int moves = 0;
  const auto make = [&]() -> Result<Moved> { return Moved(&moves); };
  const auto take = [&]() -> Status {
    const int before = moves;
    Result<Moved> made = make();
    const int making = moves - before;
    moves = 0;
    const Moved direct = CTXFS_TRY(make());
    EXPECT_EQ(*direct.moves, making + 1);
    moves = 0;
    const Moved given_up = CTXFS_TRY(std::move(made));
    EXPECT_EQ(*given_up.moves, 1);
    return {};
  };
  EXPECT_TRUE(take());
}

TEST(Try, Item29_2_WhatWasMadeBeforeTheErrorIsDestroyed) {
  const auto held = std::make_shared<int>(1);
  const auto fail = [&]() -> Status {
    const std::shared_ptr<int> first =
        CTXFS_TRY(Result<std::shared_ptr<int>>(held));
    for (const int number : {2, 4, 5}) {
      const std::shared_ptr<int> second = first;
      if (number > 2) CTXFS_TRY(CheckEven(number));
    }
    ADD_FAILURE() << "went on after an error";
    return {};
  };
  EXPECT_FALSE(fail());
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Try, Item29_2_AValueThatIsNotThereIsNoError) {
  const auto find = [](bool there) -> Maybe<std::string> {
    const std::optional<int> found =
        CTXFS_TRY(there ? Maybe<int>(std::optional(3))
                        : Maybe<int>(std::optional<int>()));
    if (!found) return std::optional<std::string>();
    return std::optional(std::to_string(*found));
  };
  EXPECT_EQ(**find(true), "3");
  EXPECT_FALSE(*find(false));
}

}  // namespace
}  // namespace ctxfs
