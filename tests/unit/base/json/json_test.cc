// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/base/json/json_fault.h"
#include "core/base/limits.h"
#include "core/base/sanitized.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

std::string Repeat(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(ParseJson, TellsWhereTheValueEndsAndIgnoresTheRest) {
  struct Case {
    std::string_view text;
    const char* value;
    size_t length;
  };
  constexpr std::string_view kNul("null\0\0", 6);
  constexpr Case kCases[] = {
      {R"({"a":1})", R"({"a":1})", 7},
      {R"({"a":1} )", R"({"a":1})", 7},
      {R"({"a":1}})", R"({"a":1})", 7},
      {R"({"a":[1,{}]}{"b":2})", R"({"a":[1,{}]})", 12},
      {"{}\n\n", "{}", 2},
      {"[]x", "[]", 2},
      {"[1,2]\xff\xfe", "[1,2]", 5},
      {" \t\r\n[1] ", "[1]", 7},
      {R"("ab")", R"("ab")", 4},
      {R"("ab""cd")", R"("ab")", 4},
      {R"("a\"b" )", R"("a\"b")", 6},
      {"true", "true", 4},
      {"truefalse", "true", 4},
      {"false,", "false", 5},
      {kNul, "null", 4},
      {"12", "12", 2},
      {"12 ", "12", 2},
      {"12\n", "12", 2},
      {"12,", "12", 2},
      {"12  ", "12", 2},
      {"0]]", "0", 1},
      {" 0 ", "0", 2},
      {"-1.5e3", "-1.5e3", 6},
      {"-1.5e3}", "-1.5e3", 6},
      {"-1.5e3 x", "-1.5e3", 6},
  };
  for (const Case& c : kCases) {
    const Result<ParsedJson> parsed = ParseJson(c.text);
    ASSERT_TRUE(Ok(parsed)) << c.text;
    EXPECT_EQ(parsed->value, Json::parse(c.value)) << c.text;
    EXPECT_EQ(parsed->length, c.length) << "'" << c.text << "'";
  }
}

TEST(ParseJson, SkipsAByteOrderMark) {
  const Result<ParsedJson> parsed = ParseJson("\xEF\xBB\xBF{\"a\":1}tail");
  ASSERT_TRUE(Ok(parsed));
  EXPECT_EQ(parsed->value, Json({{"a", 1}}));
  EXPECT_EQ(parsed->length, 10U);
  EXPECT_TRUE(Fails(ParseJson("\xEF\xBB{}"), Code::kCorrupt));
  EXPECT_TRUE(Fails(ParseJson("\xFF\xFE{\0}\0"), Code::kCorrupt));
}

TEST(ParseJson, KeepsTheLastOfEqualKeys) {
  const Result<ParsedJson> parsed =
      ParseJson(R"({"a":{"x":1,"y":2},"b":0,"a":[1],"a":{"x":3}})");
  ASSERT_TRUE(Ok(parsed));
  EXPECT_EQ(parsed->value, Json::parse(R"({"a":{"x":3},"b":0})"));
}

TEST(ParseJson, BuildsNestedValuesOfEveryKind) {
  const std::string text =
      R"({"o":{"a":[[],[{}],[1,2,[3]]],"s":"\u00e9\n"},)"
      R"("n":[0,-1,18446744073709551615,-9223372036854775808,1.25],)"
      R"("l":[true,false,null],"":""})";
  const Result<ParsedJson> parsed = ParseJson(text);
  ASSERT_TRUE(Ok(parsed));
  EXPECT_EQ(parsed->value, Json::parse(text));
  EXPECT_EQ(parsed->value["n"][2].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(parsed->length, text.size());
}

TEST(ParseJson, StopsExactlyAtTheDepthLimit) {
  for (const auto& [open, close] :
       {std::pair("[", "]"), std::pair("{\"k\":", "}")}) {
    const std::string leaf = *open == '[' ? "" : "0";
    const size_t most = limits::kJsonDepth;
    const std::string fits = Repeat(open, most) + leaf + Repeat(close, most);
    const Result<ParsedJson> parsed = ParseJson(fits);
    ASSERT_TRUE(Ok(parsed)) << open;
    EXPECT_EQ(parsed->length, fits.size());
    EXPECT_TRUE(Fails(
        ParseJson(Repeat(open, most + 1) + leaf + Repeat(close, most + 1)),
        Code::kLimit))
        << open;
    // Values without an end stop at the limit too, and cause no recursion.
    EXPECT_TRUE(Fails(ParseJson(Repeat(open, 1'000'000)), Code::kLimit));
  }
  // Depth counts open values, not those that were closed before.
  EXPECT_TRUE(Ok(ParseJson("[" + Repeat("[[]],", 1000) + "0]")));
}

TEST(ParseJson, PointsAtTheByteThatIsWrong) {
  struct Case {
    std::string_view text;
    uint64_t offset;
  };
  constexpr Case kCases[] = {
      {"x", 0},           {"[1,x]", 3},     {R"({"a" 1})", 5},
      {"{\"a\":tru}", 8}, {"\"a\x01\"", 2}, {"\"a\xff\"", 2},
      {"[1,", 3},         {"", 0},          {"{\"a\":1,}", 7},
      {"\"ab", 3},
  };
  for (const Case& c : kCases) {
    EXPECT_TRUE(Fails(ParseJson(c.text), Code::kCorrupt, c.offset)) << c.text;
  }
}

TEST(ParseJson, RefusesInvalidJson) {
  for (const std::string_view text :
       {"  ", "{", "}", "[1 2]", "{1:2}", "nul", "'a'", "+1", "-", "1e999",
        "[1,]", "\"\\x\"", "\"\\ud800\"", "//c\n1", "NaN", "SCHM"}) {
    EXPECT_TRUE(Fails(ParseJson(text), Code::kCorrupt)) << text;
  }
}

TEST(ParseJson, RefusesMoreBytesThanTheLimit) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "takes half a minute there";
  std::string text(limits::kJsonBytes, ' ');
  text.back() = '7';
  const Result<ParsedJson> parsed = ParseJson(text);
  ASSERT_TRUE(Ok(parsed));
  EXPECT_EQ(parsed->length, limits::kJsonBytes);
  text += ' ';
  EXPECT_TRUE(Fails(ParseJson(text), Code::kLimit));
}

/// Requires that ParseJson reads `text` as the library does.
void ExpectAsTheLibrary(const std::string& text) {
  const Json library = Json::parse(text, nullptr, false);
  const Result<ParsedJson> parsed = ParseJson(text);
  const bool whole =
      parsed &&
      text.find_first_not_of(" \t\r\n", parsed->length) == std::string::npos;
  ASSERT_EQ(whole, !library.is_discarded()) << text;
  if (!whole) return;
  EXPECT_EQ(parsed->value, library) << text;
  EXPECT_EQ(parsed->value.dump(), library.dump()) << text;
}

TEST(ParseJson, Item44_4_ReadsEveryChangedTextAsTheLibraryDoes) {
  const std::string text =
      " {\"a\\u00e9\\ud83d\\ude00\\n\xC3\xA9\xF0\x9F\x98\x80\": [-0, 10, "
      "1.5e+3, "
      "true,\tfalse,null,[ ],{ }],\"\": -12, \"b\":{\"c\":0.25E-7}}\r\n";
  ExpectAsTheLibrary(text);
  constexpr std::string_view kBytes =
      " \n\"\\/{}[]:,+-.09eEuntrdD\x01\x7F\x80\xC0\xE0\xED\xF4\xFF";
  for (size_t i = 0; i < text.size(); ++i) {
    ExpectAsTheLibrary(text.substr(0, i));
    ExpectAsTheLibrary(text.substr(i));
    ExpectAsTheLibrary(std::string(text).erase(i, 1));
    for (const char c : kBytes) {
      std::string changed = text;
      changed[i] = c;
      ExpectAsTheLibrary(changed);
      ExpectAsTheLibrary(std::string(text).insert(i, 1, c));
    }
  }
}

TEST(ParseJson, Item44_4_NumbersAreExact) {
  for (const std::string text : {"18446744073709551615",
                                 "18446744073709551616",
                                 "-9223372036854775808",
                                 "-9223372036854775809",
                                 "9007199254740993",
                                 "1e400",
                                 "-1e400",
                                 "1e-400",
                                 "4.9e-324",
                                 "2.4703282292062327e-324",
                                 "1.7976931348623157e308",
                                 "1.7976931348623159e308",
                                 "0.1",
                                 "1e23",
                                 "-0",
                                 "-0.0",
                                 "0e1",
                                 "00",
                                 "123456789012345678901234567890.5",
                                 "1.",
                                 ".5",
                                 "1e",
                                 "--1"}) {
    ExpectAsTheLibrary(text);
    ExpectAsTheLibrary("[" + text + "]");
  }
  ExpectAsTheLibrary(std::string(100'000, '7') + "e-99999");
}

/// Notes where each event ends.
class Places final : public JsonEvents {
 public:
  void OnScalar(const JsonScalar& /*scalar*/) override { Note('s'); }
  void OnKey(std::string& /*key*/) override { Note('k'); }
  void OnOpen(bool is_array) override { Note(is_array ? '[' : '{'); }
  void OnClose() override { Note('.'); }

  std::string log;

 private:
  void Note(char what) {
    log += what + std::to_string(at()) + "/" + std::to_string(depth()) + " ";
  }
};

TEST(ReadJson, Item44_4_TellsWhereTokensEnd) {
  Places places;
  const std::string_view text = R"( {"a" : [12 ,"b", null], "c":{}}  )";
  const Result<size_t> read = ReadJson(text, JsonDialect::kStandard,
                                       JsonExtent::kWholeText, places, {});
  ASSERT_TRUE(Ok(read));
  EXPECT_EQ(*read, text.size());
  EXPECT_EQ(places.log,
            "{2/0 k5/1 [9/1 s12/2 s16/2 s22/2 .23/1 k28/1 {30/1 .31/1 .32/0 ");
}

TEST(FormatJson, IndentsSortsAndEndsTheLine) {
  EXPECT_EQ(FormatJson(Json::parse(R"({"b":[1,2],"a":{}})")),
            "{\n \"a\": {},\n \"b\": [\n  1,\n  2\n ]\n}\n");
  EXPECT_EQ(FormatJson(nullptr), "null\n");
}

TEST(FormatJson, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(FormatJson("a\xff"
                       "b"),
            "\"a\xEF\xBF\xBD"
            "b\"\n");
  EXPECT_EQ(FormatJson("\xC3\xA9\n"), "\"\xC3\xA9\\n\"\n");
  const Json object = {{"k\xC3", 1}};
  EXPECT_EQ(FormatJson(object), "{\n \"k\xEF\xBF\xBD\": 1\n}\n");
}

TEST(Json, KeepsNoMoreValuesThanItsLimit) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "takes half a minute there";
  const auto zeros = [](uint64_t count) {
    std::string text = "[0";
    for (uint64_t i = 1; i < count; ++i) text += ",0";
    return text + "]";
  };
  // The array is a value, too.
  EXPECT_TRUE(Ok(ParseJson(zeros(limits::kJsonValues - 1))));
  EXPECT_TRUE(Fails(ParseJson(zeros(limits::kJsonValues)), Code::kLimit));
}

TEST(JsonFault, Item28_7_SaysWhatWasExpectedInOurWords) {
  const std::string prefix = "[json.exception.parse_error.101] parse error";
  EXPECT_EQ(JsonFault(prefix + " at line 1, column 9: syntax error while "
                               "parsing value - invalid literal; last read: "
                               "'nul'"),
            "not JSON: invalid literal; last read: 'nul'; expected a value");
  EXPECT_EQ(JsonFault(prefix + " at line 1, column 2: syntax error while "
                               "parsing object - unexpected end of input; "
                               "expected '}'"),
            "not JSON: unexpected end of input; expected '}'");
  EXPECT_EQ(JsonFault("[json.exception.out_of_range.406] number overflow "
                      "parsing '1e999'"),
            "not JSON: number overflow parsing '1e999'");
  EXPECT_EQ(JsonFault(""), "not JSON: ");
}

TEST(JsonFault, Item28_7_NoExceptionOfTheLibraryIsShown) {
  for (const std::string_view text :
       {"", "{", "[1,", "{\"a\"", "{\"a\":", "nul", "1e999", "\"\x01\"",
        "\"\xff\"", "{1:2}", "[1}", "\"\\ud800\"", "-", "01", "// x"}) {
    const Result<ParsedJson> parsed = ParseJson(text);
    if (parsed) continue;  // what follows a value is not parsed
    EXPECT_TRUE(parsed.error().what.starts_with("not JSON: ")) << text;
    EXPECT_EQ(parsed.error().what.find("exception"), std::string::npos) << text;
    EXPECT_EQ(parsed.error().what.find("parse error"), std::string::npos);
  }
}

}  // namespace
}  // namespace ctxfs
