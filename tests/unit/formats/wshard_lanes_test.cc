// SPDX-License-Identifier: Apache-2.0
//
// Which dtype and shape a lane has: one test a rule, in the rules' order.
#include <gtest/gtest.h>

#include <string>

#include "core/formats/wshard/lanes.h"

namespace ctxfs::wshard {
namespace {

using Shape = std::vector<uint64_t>;

Json Channels(const char* elements) {
  return {{"channels", Json::parse(elements)}};
}

void Expect(const std::optional<Lane>& lane, DType dtype, const Shape& shape,
            const char* source) {
  ASSERT_TRUE(lane);
  EXPECT_EQ(DTypeName(lane->dtype), DTypeName(dtype));
  EXPECT_EQ(lane->shape, shape);
  EXPECT_STREQ(lane->source, source);
}

constexpr const char* kFlat =
    "not declared: f32, the rule of the reference readers";

TEST(LaneTable, ADeclaredBlockComesFirst) {
  const LaneTable lanes(
      Channels(R"([{"id": "r", "signal_block": "reward", "dtype": "u8",
                    "shape": [2]},
                   {"id": "rgb", "dtype": "u8", "shape": [4, 3]}])"),
      10);
  Expect(lanes.Find("reward", 80), DType::kU8, {40, 2}, "meta/channels");
  Expect(lanes.Find("signal/rgb", 120), DType::kU8, {10, 4, 3},
         "meta/channels");
  EXPECT_FALSE(lanes.Find("signal/rgb", 120)->guess);
}

TEST(LaneTable, ADeclaredBlockThatDoesNotFitIsBytes) {
  const LaneTable lanes(Channels(R"([{"id": "a", "dtype": "f32", "shape": [3]},
                   {"id": "q", "dtype": "q4", "shape": [4]},
                   {"id": "x", "signal_block": "action/x", "dtype": "f64",
                    "shape": []}])"),
                        10);
  std::string why;
  EXPECT_FALSE(lanes.Find("signal/a", 80, &why));
  EXPECT_NE(why, "");
  EXPECT_FALSE(lanes.Find("signal/q", 40, &why));
  EXPECT_NE(why.find("'q4'"), std::string::npos);
  EXPECT_FALSE(lanes.Find("action/x", 40 + 4, &why));
}

TEST(LaneTable, AnUndeclaredLaneThatFitsNoRuleSaysSo) {
  // The TypeScript stream writer declares neither actions nor predictions.
  const LaneTable lanes(Channels(R"([{"id": "a", "dtype": "f32",
                                     "shape": []}])"),
                        10);
  for (const char* name :
       {"action/i8", "omen/a/model", "uncert/a/model/std", "signal/other",
        "omen/latent_action/m", "reward", "done", "time/ticks"}) {
    std::string why;
    EXPECT_EQ(lanes.Find(name, 10, &why).has_value(),
              std::string_view(name) == "done");
    if (std::string_view(name) == "done") continue;
    EXPECT_NE(why.find("does not declare it"), std::string::npos) << name;
    EXPECT_NE(why.find("10 bytes"), std::string::npos) << name;
  }
  std::string why;
  EXPECT_FALSE(lanes.Find("residual/a/sign2nddiff", 2, &why));
  EXPECT_FALSE(lanes.Find("meta/notes", 10, &why));
  EXPECT_EQ(why, "") << "not lanes";
}

Json Omens(const char* elements) {
  return {{"omen_channels", Json::parse(elements)}};
}

TEST(LaneTable, Item41_4_OmenChannelsCountBeforeTheGuesses) {
  const LaneTable lanes(
      Channels(R"([{"id": "a", "dtype": "f32", "shape": [7]},
                   {"id": "omen/a/b", "signal_block": "omen/a/b",
                    "dtype": "f32", "shape": [7]}])"),
      10, Omens(R"([{"block": "omen/a/m", "dtype": "f16", "shape": [7]},
                {"block": "omen/a/m", "dtype": "u8", "shape": []},
                {"block": "omen/a/b", "dtype": "f16", "shape": [14]},
                {"block": "omen/latent_action_codebook/g", "dtype": "i64"}])"));
  Expect(lanes.Find("omen/a/m", 140), DType::kF16, {10, 7}, "meta/wshard");
  EXPECT_FALSE(lanes.Find("omen/a/m", 140)->guess);
  Expect(lanes.Find("omen/a/b", 280), DType::kF32, {10, 7}, "meta/channels");
  Expect(lanes.Find("omen/latent_action_codebook/g", 80), DType::kI64, {10},
         "meta/wshard");
  EXPECT_EQ(lanes.unusable(), 0U);
}

TEST(LaneTable, Item41_4_OmenChannelsThatCannotBeUsedAreIgnored) {
  const LaneTable lanes(
      Channels(R"([{"id": "a", "dtype": "f32", "shape": [7]}])"), 10,
      Omens(R"([7, "x", null, {"block": 7, "dtype": "u8"},
                {"block": "omen/a/m"},
                {"block": "omen/a/m", "dtype": "f31", "shape": [7]},
                {"block": "omen/a/m", "dtype": "u8", "shape": [-1]},
                {"block": "omen/a/m", "dtype": "u8", "shape": "7"},
                {"block": "omen/a/m", "dtype": "u8",
                 "shape": [4294967296, 4294967296]},
                {"block": "omen/a/n", "dtype": "f32", "shape": [9]},
                {"block": "omen/a/o", "dtype": "f32", "shape": [0]},
                {"block": "signal/a", "dtype": "u8", "shape": [28]}])"));
  for (const char* name : {"omen/a/m", "omen/a/n", "omen/a/o"}) {
    Expect(lanes.Find(name, 280), DType::kF32, {10, 7},
           "inferred: as its signal");
  }
  Expect(lanes.Find("signal/a", 280), DType::kF32, {10, 7}, "meta/channels");
  EXPECT_EQ(lanes.unusable(), 0U);
  for (const char* list : {"{}", "7", "null", "[[]]"}) {
    EXPECT_FALSE(LaneTable(nullptr, 10, Omens(list)).Find("omen/a/m", 280));
  }
}

TEST(LaneTable, OfEqualChannelsTheFirstCounts) {
  const LaneTable lanes(Channels(R"([{"id": "a", "dtype": "u8", "shape": []},
                   {"id": "a", "dtype": "u16", "shape": []}])"),
                        10);
  EXPECT_EQ(lanes.Find("signal/a", 10)->dtype, DType::kU8);
}

TEST(LaneTable, TheMapOfTheFirstGoWriter) {
  const LaneTable lanes(
      Json::parse(R"({"signal/rgb": {"dtype": "Uint8", "shape": [3]},
                      "action/ctrl": {"dtype": "BFLOAT16", "shape": []}})"),
      4);
  Expect(lanes.Find("signal/rgb", 12), DType::kU8, {4, 3}, "meta/channels");
  Expect(lanes.Find("action/ctrl", 8), DType::kBf16, {4}, "meta/channels");
}

TEST(LaneTable, RewardDoneAndTimeAreImplied) {
  const LaneTable lanes(nullptr, 10);
  Expect(lanes.Find("reward", 40), DType::kF32, {10}, "implied");
  Expect(lanes.Find("reward", 80), DType::kF64, {10},
         "implied, 8 bytes a step");
  Expect(lanes.Find("done", 10), DType::kBool, {10}, "implied");
  Expect(lanes.Find("done", 40), DType::kF32, {10}, "inferred from size");
  Expect(lanes.Find("time/ticks", 40), DType::kI32, {10}, "implied");
  Expect(lanes.Find("time/timestamps_ns", 80), DType::kI64, {10}, "implied");
  EXPECT_FALSE(lanes.Find("reward", 41));
  EXPECT_TRUE(lanes.Find("reward", 80)->guess);
  EXPECT_FALSE(lanes.Find("done", 10)->guess);
  Expect(LaneTable().Find("reward", 80), DType::kF32, {20}, "implied");
}

TEST(LaneTable, AnActionIsAsTheChannelOfItsId) {
  const LaneTable lanes(
      Channels(R"([{"id": "ctrl", "signal_block": "signal/ctrl",
                    "dtype": "i16", "shape": [2]}])"),
      10);
  Expect(lanes.Find("action/ctrl", 40), DType::kI16, {10, 2},
         "channel of the same id");
  Expect(lanes.Find("action/other", 120), DType::kF32, {10, 3}, kFlat);
  EXPECT_FALSE(lanes.Find("action/other", 121));
  EXPECT_FALSE(LaneTable().Find("action/other", 120));
}

TEST(LaneTable, LatentActions) {
  const LaneTable lanes(nullptr, 5);
  Expect(lanes.Find("omen/latent_action_codebook/m", 20), DType::kI32, {5},
         "implied");
  Expect(lanes.Find("omen/latent_action/m", 80), DType::kF32, {5, 4},
         "implied");
}

TEST(LaneTable, PredictionsAreAsTheLongestSignalTheyName) {
  const LaneTable lanes(Channels(R"([{"id": "obs", "dtype": "u8", "shape": [2]},
                   {"id": "obs/rgb", "dtype": "u8", "shape": [6]}])"),
                        10);
  Expect(lanes.Find("omen/obs/rgb/dreamer", 60), DType::kU8, {10, 6},
         "inferred: as its signal");
  Expect(lanes.Find("omen/obs/dreamer", 20), DType::kU8, {10, 2},
         "inferred: as its signal");
  Expect(lanes.Find("omen/obs/rgb/dreamer", 240), DType::kF32, {10, 6},
         "inferred: f32 in the shape of its signal");
  EXPECT_FALSE(lanes.Find("omen/obs/rgb/dreamer", 40));
  EXPECT_FALSE(lanes.Find("omen/obs", 20)) << "there is no model";
  EXPECT_FALSE(lanes.Find("omen/ghost/m", 40));
}

TEST(LaneTable, UncertaintyMayBeOneNumberAStep) {
  const LaneTable lanes(
      Channels(R"([{"id": "rgb", "dtype": "u8", "shape": [6]}])"), 10);
  for (const char* name : {"uncert/rgb/std", "uncert/rgb/dreamer/std"}) {
    Expect(lanes.Find(name, 240), DType::kF32, {10, 6},
           "inferred: f32 in the shape of its signal");
    Expect(lanes.Find(name, 40), DType::kF32, {10}, "inferred: one f32 a step");
    EXPECT_TRUE(lanes.Find(name, 40)->guess);
  }
}

TEST(LaneTable, UndeclaredLanesAreBytes) {
  const LaneTable lanes(nullptr, 10);
  for (const char* name :
       {"signal/x", "aux/x", "meta/episode", "residual/x/sign2nddiff", "",
        "action/", "omen/", "time/other"}) {
    EXPECT_FALSE(lanes.Find(name, 40)) << name;
  }
}

TEST(LaneTable, HostileMetadata) {
  for (const char* text :
       {"null", "[]", "3", "{}", R"({"channels": {}})",
        R"({"channels": [null, 1, [], {}, {"id": 3}, {"id": null}]})",
        R"({"channels": [{"id": "x", "shape": "big"}]})",
        R"({"channels": [{"id": "x", "shape": [-1]}]})",
        R"({"channels": [{"id": "x", "shape": [1.5]}]})",
        R"({"channels": [{"id": "x", "dtype": 7, "shape": [4294967296,
            4294967296]}]})"}) {
    const LaneTable lanes(Json::parse(text), 10);
    EXPECT_FALSE(lanes.Find("signal/x", 40)) << text;
  }
  const LaneTable zero(Channels(R"([{"id": "x", "dtype": "u8", "shape": [0]},
                   {"id": "y", "dtype": "u8",
                    "shape": [9223372036854775808]}])"),
                       UINT64_MAX);
  EXPECT_FALSE(zero.Find("signal/x", 0));
  EXPECT_FALSE(zero.Find("signal/y", 40));
  EXPECT_FALSE(zero.Find("omen/y/m", 40));
  EXPECT_FALSE(zero.Find("action/z", 40));
}

// Equal ids, and long names of many components. With an algorithm that is
// quadratic in channels or names, this test runs into its time limit.
TEST(LaneTable, ManyChannelsAreNotQuadratic) {
  Json list = Json::array();
  for (int i = 0; i < 300'000; ++i) {
    list.push_back({{"id", "c" + std::to_string(i % 1000)}, {"dtype", "u8"}});
  }
  const LaneTable lanes({{"channels", list}}, 10);
  EXPECT_EQ(lanes.channel_count(), 300'000U);
  std::string name = "omen";
  while (name.size() < 65'000) name += "/a";
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(lanes.Find(name, 40));
}

TEST(LaneDType, LongAndShortNames) {
  EXPECT_EQ(LaneDType("float32"), DType::kF32);
  EXPECT_EQ(LaneDType("F64"), DType::kF64);
  EXPECT_EQ(LaneDType("bfloat16"), DType::kBf16);
  EXPECT_EQ(LaneDType("UInt16"), DType::kU16);
  EXPECT_EQ(LaneDType("int8"), DType::kI8);
  EXPECT_EQ(LaneDType("bool"), DType::kBool);
  EXPECT_EQ(LaneDType("float"), std::nullopt);
  EXPECT_EQ(LaneDType("float4"), std::nullopt);
  EXPECT_EQ(LaneDType("f8_e4m3"), std::nullopt);
  EXPECT_EQ(LaneDType("c64"), std::nullopt);
  EXPECT_EQ(LaneDType(""), std::nullopt);
  EXPECT_EQ(LaneDType("q4"), std::nullopt);
}

}  // namespace
}  // namespace ctxfs::wshard
