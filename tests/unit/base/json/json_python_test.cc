// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/json/json.h"
#include "core/base/limits.h"

namespace ctxfs {
namespace {

Result<ParsedJson> Parse(std::string_view text) {
  return ParseJson(text, JsonDialect::kPython);
}

TEST(PythonJson, HasBareNumbers) {
  const auto parsed =
      Parse(R"({"a":NaN,"b":[Infinity, -Infinity,-1],"c":"NaN","d":-0.5})");
  ASSERT_TRUE(parsed) << parsed.error().Text();
  const Json& value = parsed->value;
  EXPECT_TRUE(value["a"].is_number() && std::isnan(value["a"].get<double>()));
  EXPECT_EQ(value["b"][0].get<double>(), INFINITY);
  EXPECT_EQ(value["b"][1].get<double>(), -INFINITY);
  EXPECT_EQ(value["b"][2], -1);
  EXPECT_EQ(value["c"], "NaN");
  EXPECT_EQ(value["d"], -0.5);
  const auto alone = Parse("-Infinity ");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->value.get<double>(), -INFINITY);
}

TEST(PythonJson, RefusesWhatPythonRefuses) {
  for (const char* text : {"{NaN:1}", "[NaNa]", "[nan]", "[Inf]", "[-NaN]",
                           "[+Infinity]", "[1NaN]", "NaNNaN]", "[Infinit"}) {
    const auto parsed = Parse(std::string("[") + text + "]");
    EXPECT_FALSE(parsed) << text;
  }
  EXPECT_FALSE(ParseJson("[NaN]"));
  EXPECT_FALSE(ParseJson(R"(["\ud800"])"));
}

TEST(PythonJson, KeepsLoneSurrogates) {
  const auto parsed = Parse(
      R"(["\ud83d\ude00","\udc80x","a\ud800","\ud800\ud83d\ude00\u0000\udfff",)"
      R"("\\ud800\"","\ud800\n"])");
  ASSERT_TRUE(parsed) << parsed.error().Text();
  const Json& value = parsed->value;
  EXPECT_EQ(value[0], "\xF0\x9F\x98\x80");
  EXPECT_EQ(value[1], "\xED\xB2\x80x");
  EXPECT_EQ(value[2], "a\xED\xA0\x80");
  EXPECT_EQ(value[3],
            std::string("\xED\xA0\x80\xF0\x9F\x98\x80\0\xED\xBF\xBF", 11));
  EXPECT_EQ(value[4], "\\ud800\"");
  EXPECT_EQ(value[5], "\xED\xA0\x80\n");
  const auto key = Parse(R"({"\udc80":1})");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->value["\xED\xB2\x80"], 1);
}

TEST(PythonJson, IsCutAnywhereWithoutHarm) {
  const std::string text = R"({"\ud800\udc00\ud800":[NaN,-Infinity,"\u0000"]})";
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string part = text.substr(0, size);
    EXPECT_FALSE(Parse(part)) << size;
  }
  EXPECT_EQ(Parse(text + "rest")->length, text.size());
}

TEST(PythonJson, TheLastOfEqualKeysWins) {
  EXPECT_EQ(Parse(R"({"a":1,"a":{"b":2},"a":{"c":3}})")->value,
            Json({{"a", {{"c", 3}}}}));
}

/// Notes every event, and passes over what is called "skip".
class Recorder final : public JsonVisitor {
 public:
  bool Enter(const Path& path, bool is_array) override {
    log += Text(path) + (is_array ? "[" : "{");
    return path.empty() || path.back() != "skip";
  }
  void Leave(const Path& path) override { log += Text(path) + "."; }
  void Scalar(const Path& path, Json value) override {
    log += Text(path) + "=" + value.dump();
  }
  std::string log;

 private:
  static std::string Text(const Path& path) {
    std::string text = " ";
    for (const std::string& key : path) text += "/" + key;
    return text;
  }
};

TEST(WalkJson, ReportsPathsAndSkipsUnwantedValues) {
  Recorder recorder;
  const auto length =
      WalkJson(R"({"a":[1,{"b":true}],"skip":[[{"a":2}],3],"c":null})",
               JsonDialect::kStandard, recorder);
  ASSERT_TRUE(length);
  EXPECT_EQ(recorder.log,
            " { /a[ /a/=1 /a/{ /a//b=true /a/. /a. /skip[ /c=null .");
}

TEST(WalkJson, CountsTheDepthOfSkippedValues) {
  Recorder recorder;
  const std::string deep = R"({"skip":)" +
                           std::string(limits::kJsonDepth - 1, '[') +
                           std::string(limits::kJsonDepth - 1, ']') + "}";
  EXPECT_TRUE(WalkJson(deep, JsonDialect::kStandard, recorder));
  const auto deeper =
      WalkJson("[" + deep + "]", JsonDialect::kStandard, recorder);
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, Code::kLimit);
}

// Untrusted text is escaped and cut in messages.
TEST(WalkJson, SaysLittleOfWhatItCannotRead) {
  const auto parsed = ParseJson("[\"" + std::string(100'000, 'x') + "\xFF\"]");
  ASSERT_FALSE(parsed);
  EXPECT_LE(parsed.error().what.size(), 200U);
  const auto bad = ParseJson("[\"\xFF\"]");
  for (const char c : bad.error().what) EXPECT_TRUE(c >= ' ' && c <= '~');
}

}  // namespace
}  // namespace ctxfs
