// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json_writer.h"

#include <gtest/gtest.h>

namespace ctxfs {
namespace {

const Error kTooLong{Code::kLimit, "too long"};

TEST(JsonWriter, Item29_2_WritesCommasAndEscapes) {
  JsonWriter json(1000, kTooLong);
  json.BeginObject();
  json.Member("a", uint64_t{1});
  json.Key("b");
  json.BeginArray();
  json.Value("x\"\n\xFF");
  json.Value(true);
  json.Null();
  json.EndArray();
  json.Key("c");
  json.BeginObject();
  json.EndObject();
  json.Key("d");
  json.Base64("\x01\x02");
  json.Member("e", Json::array({1, 2}));
  json.EndObject();
  EXPECT_EQ(*std::move(json).Take(),
            "{\"a\":1,\"b\":[\"x\\\"\\n\xEF\xBF\xBD\",true,null],\"c\":{},"
            "\"d\":\"AQI=\",\"e\":[1,2]}");
}

TEST(JsonWriter, Item28_18_EveryByteIsWrittenAsTheLibraryWouldWriteIt) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = std::string("a") + static_cast<char>(byte);
    JsonWriter json(1000, kTooLong);
    json.Value(text);
    EXPECT_EQ(*std::move(json).Take(), JsonLine(text)) << byte;
  }
}

TEST(JsonWriter, Item29_2_NumbersReadBackAsTheyWere) {
  JsonWriter json(1000, kTooLong);
  json.BeginArray();
  for (const double value : {1.0, 0.1, -1e300, std::nan(""), HUGE_VAL}) {
    json.Value(value);
  }
  for (const int64_t value :
       {int64_t{-3}, (int64_t{1} << 53) - 1, int64_t{1} << 53, INT64_MIN}) {
    json.Value(value);
  }
  json.Value(UINT64_MAX);
  json.EndArray();
  EXPECT_EQ(*std::move(json).Take(),
            "[1.0,0.1,-1e+300,null,null,-3,9007199254740991,"
            "\"9007199254740992\",\"-9223372036854775808\","
            "18446744073709551615]");
}

TEST(JsonWriter, Item29_2_PutsBlanksLikePython) {
  JsonWriter json(1000, kTooLong);
  json.PutBlanks();
  json.BeginObject();
  json.Member("a", uint64_t{1});
  json.Key("b");
  json.BeginArray();
  json.Value(true);
  json.Null();
  json.Break();
  json.Value("c");
  json.EndArray();
  json.EndObject();
  EXPECT_EQ(*std::move(json).Take(), "{\"a\": 1, \"b\": [true, null,\n\"c\"]}");
}

TEST(JsonWriter, Item29_2_BreaksLinesWhereItIsTold) {
  JsonWriter json(1000, kTooLong);
  json.BeginArray();
  for (const int64_t i : {0, 1}) {
    json.Break();
    json.Value(i);
  }
  json.Value(int64_t{2});
  json.Break();
  json.EndArray();
  json.Append("\n");
  EXPECT_EQ(*std::move(json).Take(), "[\n0,\n1,2\n]\n");
}

TEST(JsonWriter, Item29_2_StopsAtItsLimitForGood) {
  JsonWriter json(6, kTooLong);
  json.BeginArray();
  json.Value("abc");
  EXPECT_TRUE(json.ok());
  json.EndArray();
  EXPECT_FALSE(json.ok());
  json.Raw("1");
  EXPECT_EQ(std::move(json).Take().error().what, "too long");
  // A text that cannot fit is not escaped first.
  JsonWriter other(100, kTooLong);
  other.Value(std::string(101, '\n'));
  EXPECT_FALSE(other.ok());
}

TEST(JsonWriter, Item29_2_EachByteIsCharged) {
  uint64_t charged = 0;
  const auto charge = [&](uint64_t bytes) -> Status {
    charged += bytes;
    if (charged > 5) return Error{Code::kInterrupted, "given up"};
    return {};
  };
  JsonWriter json(1000, kTooLong, charge);
  json.BeginArray();
  json.Value(int64_t{12});
  json.Value(int64_t{3});
  EXPECT_EQ(charged, 5U);
  EXPECT_TRUE(json.ok());
  json.EndArray();
  EXPECT_EQ(std::move(json).Take().error().code, Code::kInterrupted);
}

}  // namespace
}  // namespace ctxfs
