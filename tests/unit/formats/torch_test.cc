// SPDX-License-Identifier: Apache-2.0
//
// The pickle reader's limits and its way with hostile pickles; what pickles of
// torch mean is in golden/torch.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/torch/global_names.h"
#include "core/formats/torch/global_scan.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/names.h"
#include "core/formats/torch/pickle.h"
#include "core/formats/torch/value.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/pickle_builder.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::torch {
namespace {

class PickleTest : public testing::Test {
 protected:
  Result<Pickle> Read(const std::string& text) {
    const Content content = LiteralContent(text);
    return ReadPickle(content, 0, context_, end_);
  }
  /// The globals of a pickle, separated by spaces; "?" at the end if there may
  /// be more.
  std::string Globals(const std::string& text) {
    const Content content = LiteralContent(text);
    GlobalNames names;
    EXPECT_TRUE(Ok(ScanGlobals(content, 0, context_, names, end_)));
    std::string all;
    for (const auto& [name, safe] : names.List(/*script=*/false)) {
      all += (all.empty() ? "" : " ") + name;
    }
    return names.complete() ? all : all + "?";
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
  // As long as it is written, and not as it has to be.
  EXPECT_EQ(Json("\x8A\x09\x05" + std::string(8, '\0') + "."), "5");
  EXPECT_EQ(Json("\x8A\x0A\xFB" + std::string(9, '\xFF') + "."), "-5");
  EXPECT_EQ(
      Json("\x8A\x09" + std::string(8, '\xFF') + std::string(1, '\0') + "."),
      "\"18446744073709551615\"");
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
  EXPECT_EQ(Globals("cos\nsystem\n0cos\nsystem\n0cx\ny\n."), "os.system x.y");
}

TEST_F(PickleTest, GlobalsOfEveryProtocol) {
  EXPECT_EQ(Globals("N."), "");
  EXPECT_EQ(end_, 2U);
  EXPECT_EQ(Globals("N.cos\nsystem\n"), "");  // nobody reads on
  EXPECT_EQ(Globals("c__builtin__\neval\n."), "builtins.eval");
  // Protocol 0 as Python writes it: cposix system p0 (Vtouch x p1 tp2 Rp3 .
  EXPECT_EQ(Globals("cposix\nsystem\np0\n(Vtouch x\np1\ntp2\nRp3\n."),
            "posix.system");
  EXPECT_EQ(Globals("(S'x'\niposix\nsystem\n."), "posix.system");
  EXPECT_EQ(Globals("(cposix\nsystem\nI1\nF1.5\nL1L\nPid\no."), "posix.system");
  EXPECT_EQ(Globals("(cposix\nsystem\nld."), "posix.system");
  EXPECT_EQ(Globals("\x97\x98" + Text("a") + Text("b") + "\x93."), "a.b");
}

TEST_F(PickleTest, GlobalsOfTheStackAreFoundWhereverTheirTextIs) {
  EXPECT_EQ(Globals("\x8C\x05posix\x8C\x06system\x93."), "posix.system");
  EXPECT_EQ(Globals("U\x05posix" + Text("N") + "0U\x06system\x93."),
            "posix.system");
  EXPECT_EQ(Globals("S'po\\x73ix'\nS\"sys\\164em\"\n\x93."), "posix.system");
  EXPECT_EQ(Globals("V\\u0070osix\nV\\U00000073ystem\n\x93."), "posix.system");
  // By the memo, under keys of every kind.
  EXPECT_EQ(Globals(Text("x") + "\x94" + Text("os") + "\x94" + Text("f") +
                    "r\xFF\xFF\xFF\x7F(1h\x01j\xFF\xFF\xFF\x7F\x93."),
            "os.f");
  EXPECT_EQ(Globals(Text("os") + "p007\n0" + Text("f") + "p1\n0g7\ng01\n\x93."),
            "os.f");
  EXPECT_EQ(Globals(Text("os") + "2\x93."), "os.os");
  // What calls and containers leave on the stack does not shift it.
  EXPECT_EQ(Globals(Text("os") + Text("f") + "NN\x86N\x85N\x85\x81NN\x87" +
                    "00\x93."),
            "os.f");
  EXPECT_EQ(Globals(Text("os") + "](NNe0}(NNu}NNs00\x8F(N\x90" + "0" +
                    Text("f") + "\x93."),
            "os.f");
}

TEST_F(PickleTest, GlobalsBeforeAFaultAreListed) {
  const std::string evil = Evil();
  EXPECT_EQ(Globals(evil), "posix.system?");
  EXPECT_EQ(Globals(evil + "\xFF."), "posix.system?");
  EXPECT_EQ(Globals(evil + "X\xFF\xFF\xFF\xFF."), "posix.system?");
  EXPECT_EQ(Globals(evil + "cno newline"), "posix.system?");
  // Python ends at these, and ctxfs looks behind them.
  EXPECT_EQ(Globals("00t\x93" + evil + "."), "posix.system?");
  EXPECT_EQ(Globals("aseu1\x87" + evil + "."), "posix.system");
}

TEST_F(PickleTest, NamesThatAreNotTextMakeTheListIncomplete) {
  EXPECT_EQ(Globals("\x82\x01."), "?");
  EXPECT_EQ(Globals("\x83\x01\x01."), "?");
  EXPECT_EQ(Globals(std::string("\x84\x01\0\0\0.", 6)), "?");
  EXPECT_EQ(
      Globals("cbuiltins\nstr\n" + Text("os") + "\x85R" + Text("f") + "\x93."),
      "builtins.str?");
  // A number that Python reads and ctxfs does not.
  EXPECT_EQ(Globals(Text("os") + "p1_0\n" + Text("f") + "\x93g10\n2\x93."),
            "os.f?");
  const std::string name(70'000, 'n');
  EXPECT_EQ(Globals("cos\n" + name + "\ncos\nsystem\n."), "os.system?");
  EXPECT_EQ(Globals(Text("os") + Text(name) + "\x93."), "?");
}

TEST_F(PickleTest, AScanOfGlobalsIsBounded) {
  const std::string name(60'000, 'n');
  std::string text = Text(name) + "q\x01";
  for (int i = 0; i < 20'000; ++i) text += "h\x01h\x01\x93";
  const std::string globals = Globals(text + "N.");
  EXPECT_TRUE(globals.ends_with("... (120001 bytes)?"));
  EXPECT_LT(globals.size(), 1100U);
  EXPECT_EQ(Globals(std::string(1'000'000, '(') + "."), "");
  EXPECT_EQ(Globals(std::string(1'000'000, 't') + "."), "");
  EXPECT_EQ(Globals("I" + std::string(1'000'000, '1') + "\ncx\ny\n."), "x.y");
}

TEST_F(PickleTest, UnsafeNamesAreListedBeforeSafeOnes) {
  GlobalNames names;
  EXPECT_TRUE(Ok(names.Add("torch.Size")));
  EXPECT_TRUE(Ok(names.Add("__torch__.Net")));
  for (int i = 0; i < 20'000; ++i)
    EXPECT_TRUE(Ok(names.Add("project.Name" + std::to_string(i))));
  EXPECT_TRUE(Ok(names.Add("project.Name19999")));
  EXPECT_EQ(names.Count(), 20'002U);
  EXPECT_EQ(names.CountUnsafe(/*script=*/false), 20'001U);
  EXPECT_EQ(names.CountUnsafe(/*script=*/true), 20'000U);
  EXPECT_EQ(names.List(true).size(), kMaxGlobals);
  EXPECT_FALSE(names.List(true).back().safe);

  GlobalNames script;
  for (size_t i = 0; i < kMaxGlobals; ++i) {
    EXPECT_TRUE(Ok(script.Add("__torch__.N" + std::to_string(i))));
  }
  EXPECT_TRUE(Ok(script.Add("posix.system")));
  EXPECT_EQ(script.List(true).front().name, "posix.system");
  EXPECT_EQ(script.CountUnsafe(true), 1U);
}

TEST(GlobalNamesTest, Item28_18_AMillionNamesAreInOnePieceOfMemory) {
  GlobalNames names;
  const int64_t before = HeapBytes();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1'200'000; ++i) {
      ASSERT_TRUE(names.Add("m.n" + std::to_string(i)));
      if (round == 0 && i == 1'000'000) {
        EXPECT_EQ(names.Count(), 1'000'001U);
      }
    }
  }
  EXPECT_EQ(names.Count(), kMaxGlobals + kMaxCounted);
  // Hashes of eight bytes in a table that is half full, and what is listed.
  constexpr auto kMax = static_cast<int64_t>(20 * limits::kMiB);
  if (CountsHeap()) {
    EXPECT_LT(HeapBytes() - before, kMax);
  }
}

TEST(GlobalNamesTest, Item28_18_NamesThatAreCutAlikeCountOnce) {
  GlobalNames names;
  const std::string name(2 * kMaxListedName, 'n');
  EXPECT_TRUE(Ok(names.Add(name + "a")));
  EXPECT_TRUE(Ok(names.Add(name + "b")));
  EXPECT_EQ(names.Count(), 1U);
  EXPECT_EQ(names.List(/*script=*/false).size(), 1U);
}

TEST(Names, SafeOnes) {
  for (const char* name :
       {"torch.Tensor", "torch.nn.parameter.Parameter", "torch.FloatTensor",
        "torch.cuda.HalfTensor", "torch.sparse.LongTensor",
        "torch.cuda.sparse.DoubleTensor", "torch.storage.TypedStorage",
        "torch._utils._rebuild_sparse_csr_tensor",
        "torch._utils._rebuild_wrapper_subclass", "torch.float32"}) {
    EXPECT_TRUE(IsKnownName(name)) << name;
  }
  for (const char* name :
       {"", ".", "Tensor", "torch.EvilTensor", "os.FloatTensor",
        "torch.FloatTensor.__class__", "torch.nn.parameter", "torch.load",
        "torch._utils.", "builtins.eval", "torch.cuda.sparse.x.FloatTensor"}) {
    EXPECT_FALSE(IsKnownName(name)) << name;
  }
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

TEST_F(PickleTest, MemoKeysOfOneBucketAreNoBomb) {
  // Multiples of a number of buckets that the library's hash tables have: each
  // of a million look-ups would pass 40,000 values.
  constexpr uint64_t kBuckets = 42'043;
  std::string text = "N";
  for (uint64_t i = 1; i < kBuckets; ++i) text += "r" + Le(i * kBuckets, 4);
  for (int i = 0; i < 1'000'000; ++i) text += "j" + Le(kBuckets, 4) + "0";
  EXPECT_EQ(Json(text + "."), "null");
  EXPECT_EQ(Globals(text + "."), "");
}

TEST_F(PickleTest, LongStorageKeysAreNoBomb) {
  // A tensor that is there 20,000 times: 2 bytes each, and not a copy of the
  // key.
  const auto tensors = [](const std::string& key) {
    std::string text = "](ctorch._utils\n_rebuild_tensor_v2\n((" +
                       Text("storage") + "ctorch\nFloatStorage\n" + Text(key) +
                       Text("cpu") + "K\x01tQK" + std::string(1, '\0') +
                       "K\x01\x85K\x01\x85\x89Nt"
                       "Rq\x01";
    for (int i = 0; i < 20'000; ++i) text += "h\x01";
    return text + "e.";
  };
  const auto count = [this](const Result<Pickle>& pickle) {
    std::vector<FoundTensor> found;
    EXPECT_TRUE(Ok(FindTensors(*pickle, "", context_, found)));
    return found.size();
  };
  EXPECT_EQ(count(Read(tensors("0"))), 20'001U);
  EXPECT_EQ(count(Read(tensors(std::string(kMaxKeyBytes, '0')))), 20'001U);
  EXPECT_EQ(count(Read(tensors(std::string(1 << 20, '0')))), 0U);
}

TEST_F(PickleTest, PlacesOfATensorAreNoBomb) {
  if (!CountsHeap()) GTEST_SKIP();
  constexpr size_t kCount = 50'000;
  for (const bool noted : {true, false}) {
    SCOPED_TRACE(noted);
    const Result<Pickle> pickle =
        Read(ManyTensors(kCount, noted, std::string(kMaxKeyBytes, 'k')));
    ASSERT_TRUE(Ok(pickle));
    std::vector<FoundTensor> found;
    const int64_t before = HeapBytes();
    ASSERT_TRUE(Ok(FindTensors(*pickle, "", context_, found)));
    EXPECT_EQ(found.size(), kCount);
    EXPECT_LT(HeapBytes() - before, int64_t{kCount} * 128);
  }
}

TEST_F(PickleTest, LongNamesOfDevicesAreNoBomb) {
  std::string text =
      "](ctorch\ndevice\n" + Text(std::string(1 << 20, 'd')) + "\x85Rq\x01";
  for (int i = 0; i < 1'000'000; ++i) text += "h\x01";
  const Result<Pickle> pickle = Read(text + "e.");
  ASSERT_TRUE(Ok(pickle));
  std::vector<FoundTensor> found;
  EXPECT_TRUE(Fails(FindTensors(*pickle, "", context_, found), Code::kLimit));
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
}  // namespace
}  // namespace ctxfs::torch
