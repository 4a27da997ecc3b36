// SPDX-License-Identifier: Apache-2.0
//
// The pickle reader's limits and its way with hostile pickles; what pickles of
// torch mean is in golden/torch.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/pickle.h"
#include "core/formats/torch/value.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs::torch {
namespace {

class PickleTest : public testing::Test {
 protected:
  Result<Pickle> Read(const std::string& text) {
    const Content content = LiteralContent(text);
    return ReadPickle(content, 0, context_, end_);
  }
  /// The value as JSON; the error's text if there is none.
  std::string Json(const std::string& text) {
    const Result<Pickle> pickle = Read(text);
    if (!pickle) return pickle.error().what;
    static const std::string kPath = "path";
    const Result<std::string> value = ValueText(
        *pickle, [](size_t) -> const std::string& { return kPath; }, context_);
    if (!value) return value.error().what;
    return value->substr(0, value->size() - 1);
  }

  BlockCache cache_{limits::kMiB};
  const ReadContext context_{cache_};
  uint64_t end_ = 0;
};

std::string Text(const std::string& text) {
  return "X" + Le(text.size(), 4) + text;
}

TEST_F(PickleTest, Values) {
  EXPECT_EQ(Json("N."), "null");
  EXPECT_EQ(Json("\x88."), "true");
  EXPECT_EQ(Json("K\x07."), "7");
  EXPECT_EQ(Json("J" + Le(0xFFFFFFFFU, 4) + "."), "-1");
  EXPECT_EQ(Json(std::string("\x8A\x00.", 3)), "0");
  EXPECT_EQ(Json("\x8A\x01\xFF."), "-1");
  EXPECT_EQ(Json("\x8A\x09" + std::string(8, '\0') + "\x01."),
            "\"18446744073709551616\"");
  EXPECT_EQ(Json("\x8A\x09" + std::string(8, '\0') + "\xFF."),
            "\"-18446744073709551616\"");
  EXPECT_EQ(Json(std::string("G\x3F\xF0\0\0\0\0\0\0.", 10)), "1.0");
  EXPECT_EQ(Json(std::string("G\x7F\xF0\0\0\0\0\0\0.", 10)), "null");
  EXPECT_EQ(Json(Text("a\"b") + "."), R"("a\"b")");
  EXPECT_EQ(Json("U\x02\xFF\xFE."), R"({"$bytes":"//4="})");
  EXPECT_EQ(Json("](K\x01K\x02"
                 "e."),
            "[1,2]");
  EXPECT_EQ(Json("}(K\x01K\x02" + Text("a") + "Nu."), R"({"1":2,"a":null})");
  EXPECT_EQ(Json("\x8F(K\x01\x90."), R"({"$set":[1]})");
}

TEST_F(PickleTest, TheLastOfEqualKeysCounts) {
  EXPECT_EQ(Json("}(" + Text("a") + "K\x01" + Text("b") + "K\x02" + Text("a") +
                 "K\x03u."),
            R"({"a":3,"b":2})");
  EXPECT_EQ(Json("}(K\x01K\x02" + Text("1") + "K\x03u."),
            R"({"$dict":[[1,2],["1",3]]})");
}

TEST_F(PickleTest, ACallIsData) {
  EXPECT_EQ(Json("cos\nsystem\n(" + Text("touch x") + "tR."),
            R"({"$opaque":"os.system","args":["touch x"]})");
  EXPECT_EQ(Json("c__builtin__\neval\n."), R"({"$opaque":"builtins.eval"})");
  // A call of the result of a call.
  EXPECT_EQ(Json("cx\ny\n)R)R."),
            R"({"$opaque":"","callable":{"$opaque":"x.y"}})");
  const Result<Pickle> pickle = Read("cos\nsystem\n0cos\nsystem\n0cx\ny\n.");
  ASSERT_TRUE(Ok(pickle));
  EXPECT_EQ(pickle->globals(),
            (std::set<std::string, std::less<>>{"os.system", "x.y"}));
}

TEST_F(PickleTest, ReportsWhereAPickleIsUnreadable) {
  EXPECT_TRUE(Fails(Read(""), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(Read("N"), Code::kCorrupt, 1));
  for (const std::string bad : {".",
                                "K",
                                "NN\x87.",
                                "t.",
                                "e.",
                                "]e.",
                                "](\x90",
                                "Na.",
                                "]s.",
                                "R.",
                                "NNR.",
                                "N)R",
                                "b.",
                                "NNb.",
                                "h\x00.",
                                "q\x00.",
                                "0",
                                "1",
                                "(2.",
                                "X\xFF\xFF\xFF\xFF.",
                                "\x80\x06.",
                                "\x80\x01.",
                                "I1\n.",
                                "ios\nf\n.",
                                "(.",
                                "cno newline",
                                "}(Nu.",
                                "N(q",
                                "\x8B\xFF\xFF\xFF\x7F."}) {
    EXPECT_TRUE(Fails(Read(bad), Code::kCorrupt)) << bad;
  }
}

TEST_F(PickleTest, NoLengthIsBelieved) {
  for (const std::string op : {"\x8D", "\x8E", "\x96"}) {
    EXPECT_TRUE(Fails(Read(op + Le(UINT64_MAX, 8) + "abc."), Code::kCorrupt));
    EXPECT_TRUE(Fails(Read(op + Le(1ULL << 40, 8) + "abc."), Code::kCorrupt));
  }
}

TEST_F(PickleTest, MemoKeysMayBeFar) {
  EXPECT_EQ(Json("K\x05r\xFF\xFF\xFF\xFF"
                 "0j\xFF\xFF\xFF\xFF."),
            "5");
  EXPECT_EQ(Json("K\x05\x94K\x06\x94h" + std::string(1, '\0') + "."), "5");
}

TEST_F(PickleTest, NestingHasALimit) {
  const auto nested = [](size_t depth) {
    return std::string(depth, ']') + std::string(depth - 1, 'a') + ".";
  };
  EXPECT_EQ(Json(nested(3)), "[[[]]]");
  EXPECT_EQ(Json(nested(900)).substr(0, 4), "[[[[");
  EXPECT_EQ(Json(nested(2000)).substr(0, 12), "pickle_depth");
  EXPECT_EQ(Json(nested(1'000'000)).substr(0, 12), "pickle_depth");
}

TEST_F(PickleTest, SharedValuesAreWrittenOnce) {
  EXPECT_EQ(Json("](](K\x01"
                 "eq\x01h\x01h\x01"
                 "e."),
            R"([[1],{"$ref":"0"},{"$ref":"0"}])");
  // A list within itself.
  EXPECT_EQ(Json("]q\x01h\x01"
                 "a."),
            R"([{"$ref":""}])");
}

TEST_F(PickleTest, SharedArgumentsAreNoBomb) {
  // 2000 calls that share arguments of 20,000 values each.
  std::string text = "(";
  for (int i = 0; i < 20'000; ++i) text += "K\x01";
  text +=
      "tq\x01"
      "0cbuiltins\nset\nq\x02"
      "0]((";
  for (int i = 0; i < 20'000; ++i) text += "K\x01";
  text +=
      "tq\x03"
      "0";
  for (int i = 0; i < 2000; ++i) text += "h\x02h\x03\x85R";
  text += "e.";
  EXPECT_EQ(Json(text).substr(0, 15), "the value is ov");
}

TEST_F(PickleTest, ReferencesToALargeDictAreNoBomb) {
  // Each of the references must cost the same however large the dict is.
  constexpr uint64_t kMany = 200'000;
  std::string text = "](ccollections\nOrderedDict\n)R(";
  for (uint64_t i = 0; i < kMany; ++i) text += "J" + Le(i, 4) + "N";
  text += "uq\x01";
  for (uint64_t i = 0; i < kMany; ++i) text += "h\x01";
  const std::string json = Json(text + "e.");
  EXPECT_TRUE(json.starts_with(R"([{"0":null,"1":null,)"));
  EXPECT_NE(json.find(R"("199999":null},{"$ref":"0"},)"), std::string::npos);
  EXPECT_TRUE(json.ends_with(R"({"$ref":"0"},{"$ref":"0"}])"));
}

TEST_F(PickleTest, LongNamesAreNoBomb) {
  const std::string name(60'000, 'n');
  std::string text = Text(name) +
                     "q\x01"
                     "0";
  for (int i = 0; i < 20'000; ++i)
    text +=
        "h\x01h\x01\x93"
        "0";
  EXPECT_TRUE(Fails(Read(text + "N."), Code::kLimit));
}

TEST_F(PickleTest, TextHasALimit) {
  std::string text = Text(std::string(1'000'000, 't')) +
                     "q\x01"
                     "0](";
  for (int i = 0; i < 100; ++i) text += "h\x01";
  EXPECT_EQ(Json(text + "e.").substr(0, 15), "value_too_large");
}

/// A checkpoint whose data.pkl is `pickle`.
std::string Checkpoint(const std::string& pickle, const std::string& storage) {
  return BuildZip({{"top/data.pkl", pickle},
                   {"top/data/0", storage},
                   {"top/version", "3\n"}});
}

std::string TensorPickle(const std::string& elements, const std::string& rest) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + Text("storage") +
         "ctorch\nFloatStorage\n" + Text("0") + Text("cpu") + elements + "tQ" +
         rest +
         "\x89"
         "NtR.";
}

TEST(Checkpoint, EveryReadOfOpeningMayFail) {
  const std::string bytes =
      Checkpoint(TensorPickle("K\x04", std::string("K\0K\x04\x85K\x01\x85", 8)),
                 std::string(16, 'f'));
  for (uint64_t calls = 0;; ++calls) {
    auto source = std::make_shared<FaultySource>(bytes);
    source->FailAfter(calls);
    const auto opened = OpenContainer(source, {});
    if (opened) {
      EXPECT_EQ(EntryCount(**opened), 1U);
      EXPECT_EQ(EntrySize(**opened, 0), 16U);
      break;
    }
    ASSERT_TRUE(Fails(opened, Code::kIo)) << calls;
    ASSERT_LT(calls, 100U);
  }
}

TEST(Checkpoint, ASizeComesFromBytesThatAreThere) {
  // 2^62 elements by strides of 0 in a storage of 4 bytes.
  const std::string huge = "\x8A\x08" + Le(1ULL << 62, 8);
  const auto opened = OpenContainer(
      std::make_shared<MemorySource>(Checkpoint(
          TensorPickle("K\x01", std::string("K\0", 2) + huge + "\x85" +
                                    std::string("K\0\x85", 3)),
          "four")),
      {});
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(EntrySize(**opened, 0), 0U);
  EXPECT_TRUE(Fails(OpenEntry(**opened, 0), Code::kCorrupt));
}

}  // namespace
}  // namespace ctxfs::torch
