// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/container/interfaces/has_episode.h"
#include "tests/unit/testing/fake_arrays.h"

namespace ctxfs {
namespace {

std::optional<Episode> Found(std::vector<ArrayInfo> arrays) {
  return FindEpisode(std::move(arrays), {});
}

ArrayInfo Floats(std::string name, std::vector<uint64_t> shape) {
  return Array(std::move(name), DType::kF32, std::move(shape), "");
}

TEST(EpisodeTest, Item43_9_ATimeOrAnActionNamesAnEpisode) {
  for (const char* name : {"time", "timestamps", "data/timestamp_ns", "T",
                           "t_ms", "Action", "data/actions", "ts_seconds"}) {
    EXPECT_TRUE(NamesEpisode(name)) << name;
  }
  for (const char* name : {"", "a", "timer", "time_ps", "x_train", "time/x",
                           "_ns", "action.0", "000000.action"}) {
    EXPECT_FALSE(NamesEpisode(name)) << name;
  }
}

TEST(EpisodeTest, Item43_9_StepsAreTheRowsOfTheTimes) {
  const auto episode = Found({Floats("action", {9, 2}), Floats("qpos", {10, 7}),
                              Floats("timestamp", {10}), Floats("fps", {})});
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->steps, 10U);
  ASSERT_EQ(episode->signals.size(), 2U);
  EXPECT_EQ(episode->signals[0].name, "qpos");
  ASSERT_EQ(episode->left_out.size(), 2U);
  EXPECT_EQ(episode->left_out[0].name, "action");
  EXPECT_EQ(episode->left_out[0].reason,
            "f32 [9, 2]: it does not have a row for each of the 10 steps");
  EXPECT_TRUE(episode->clock.known());
  EXPECT_EQ(episode->clock.ticks->name, "timestamp");
  EXPECT_TRUE(episode->clock.from_first);
}

TEST(EpisodeTest, Item43_9_WithoutTimesStepsAreThoseOfTheActions) {
  const auto episode =
      Found({Floats("obs", {5, 3}), Floats("actions", {5}), Floats("dt", {1})});
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->steps, 5U);
  EXPECT_EQ(episode->clock.rate->name, "dt");
  EXPECT_TRUE(episode->clock.rate_is_period);
  EXPECT_FALSE(
      Found({Floats("obs", {5, 3}), Floats("actions", {5})})->clock.known());
}

TEST(EpisodeTest, Item43_9_IntegersNeedAUnit) {
  const auto times = [](const char* name) {
    return Found({Array(name, DType::kI64, {4}, ""), Floats("x", {4})});
  };
  EXPECT_FALSE(times("timestamp")->clock.known());
  EXPECT_EQ(times("timestamp_ns")->clock.divisor, 1e9);
  EXPECT_EQ(times("time_ms")->clock.divisor, 1e3);
}

TEST(EpisodeTest, Item43_9_OtherArraysAreNoEpisode) {
  EXPECT_FALSE(Found({}));
  EXPECT_FALSE(Found({Floats("x_train", {60, 28}), Floats("y_train", {60})}));
  EXPECT_FALSE(Found({Floats("action", {5, 2})}));
  EXPECT_FALSE(Found({Floats("action", {5, 2}), Floats("b", {4})}));
  EXPECT_FALSE(Found({Floats("time", {}), Floats("action", {})}));
}

}  // namespace
}  // namespace ctxfs
