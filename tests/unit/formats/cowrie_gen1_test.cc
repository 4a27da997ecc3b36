// SPDX-License-Identifier: Apache-2.0
//
// Graphs of cowrie's generation 1, and the arrays of values of either, by bytes
// made for it (docs/formats/cowrie.md).
#include <gtest/gtest.h>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/limits.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::cowrie {
namespace {

using namespace std::string_literals;

const std::string kHuge = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01";

/// Every part that there is, small.
const std::string kWhole =
    "\x39\xFF\x03"s + "\x03toy"s +                           // name
    "\x07\x02\x01k\x0A\x01\0\0\0\0\0\0\xF8\x3F\x01l\x02"s +  // metadata
    "\x01\x01n\x01\x01L\x07\x01\x01p\x03\x03"s +             // nodes
    "\x01\x00\x01t\x01"
    "a\x01"
    "b\x07\x00"s +                       // edges
    "\x02\x00\x02\x04\x05"s +            // edge index
    "\x02\x00\x02\x02\x04\x02\x00"s +    // adjacency
    "\x01\x02\0\0\0\x3F\0\0\0\xBF"s +    // node features
    "\x02\x01\0\0\x80\x3F\0\0\0\x40"s +  // edge features
    "\x02\x02\x01"s +
    "\x01\x7F"s;  // labels

Result<CowrieValue> Read(const std::string& bytes, bool numbers = true) {
  // The values in its graphs have the earlier tags.
  return ReadCowrie1(AsBytes(bytes), {Gen1Tags::kEarlier, Gen1Graphs::kGo},
                     numbers);
}

Code GraphCodeOf(const std::string& bytes) {
  const Result<CowrieValue> with = Read(bytes);
  const Result<CowrieValue> without = Read(bytes, /*numbers=*/false);
  EXPECT_FALSE(with);
  EXPECT_FALSE(without) << "checked without the numbers too";
  return with ? Code::kNotFound : with.error().code;
}

/// A graph whose metadata is {"v": value}.
std::string WithValue(const std::string& value) {
  return "\x39\x02\x00\x07\x01\x01v"s + value;
}

Json DecodedInGraph(const std::string& value) {
  const Result<CowrieValue> graph = Read(WithValue(value));
  EXPECT_TRUE(graph) << graph.error().Text();
  return graph ? graph->json["metadata"]["v"] : Json("failed");
}

Gen1Choice Chosen(const std::string& bytes) {
  Result<Gen1Choice> choice = ChooseCowrie1(AsBytes(bytes));
  EXPECT_TRUE(choice) << choice.error().Text();
  return choice ? *std::move(choice) : Gen1Choice();
}

TEST(CowrieGen1, Item41_2_TheFewerOddValuesDecide) {
  // A bigint without a needless byte or a float: the newer table.
  const Gen1Choice tied = Chosen("\x0D\x03\x12\x34\x56"s);
  EXPECT_EQ(tied.dialect.tags, Gen1Tags::kUnified);
  EXPECT_EQ(tied.value.json, "1193046");
  EXPECT_EQ(tied.doubt, "both tables of tags read it");
  // With a needless byte the float is likelier.
  const Gen1Choice earlier = Chosen("\x0D\x03\0\0\x3F"s);
  EXPECT_EQ(earlier.dialect.tags, Gen1Tags::kEarlier);
  EXPECT_FALSE(earlier.doubt.empty());
  // Neither is odd in an integer that is the same in both.
  EXPECT_EQ(Chosen("\x03\x54"s).doubt, "");
  // A control character in a list of texts, a time in 1970.
  EXPECT_EQ(Chosen("\x0B\x01\x06"
                   "abc\0\0\0"s)
                .dialect.tags,
            Gen1Tags::kUnified);
}

TEST(CowrieGen1, Item41_2_ATextMustBeUtf8) {
  EXPECT_FALSE(ChooseCowrie1(AsBytes("\x05\x01\xFF"s)));
  EXPECT_FALSE(ChooseCowrie1(AsBytes("\x07\x01\x01\xFF\x00"s)));
  EXPECT_TRUE(ChooseCowrie1(AsBytes("\x05\x02\xC3\xA4"s)));
}

TEST(CowrieGen1, Item41_2_EmptyGraphsOfBothFamilies) {
  EXPECT_EQ(Chosen("\x39\0\0"s).dialect.graphs, Gen1Graphs::kGo);
  EXPECT_EQ(Chosen("\x39\0\0\0"s).dialect.graphs, Gen1Graphs::kSpec);
  // No nodes: both read it, and give the same.
  EXPECT_EQ(Chosen("\x37\0"s).doubt, "");
}

TEST(CowrieGen1, Item41_2_TheReadingThatGotFurthestSaysWhy) {
  const auto choice = ChooseCowrie1(AsBytes("\x17\x01\0\0\0\0\0\0\0\0x"s));
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().offset, 10U);
}

TEST(CowrieGen1, EveryPart) {
  const Result<CowrieValue> graph = Read(kWhole);
  ASSERT_TRUE(graph) << graph.error().Text();
  EXPECT_EQ(graph->json, Json::parse(R"({
      "name": "toy", "metadata": {"k": [1.5], "l": true},
      "nodes": [{"id": "n", "labels": ["L"], "props": {"p": -2}}],
      "edges": [{"type": "t", "from": "a", "to": "b", "props": {}}],
      "edge_index": [[0, 1], [2, -3]],
      "adjacency": [{"id": 0, "neighbors": [1, 2]},
                    {"id": 1, "neighbors": []}],
      "node_features": [[0.5, -0.5]], "edge_features": [[1], [2]],
      "node_labels": [1, -1], "edge_labels": [-64]})"));
}

TEST(CowrieGen1, EveryCutIsRefused) {
  for (size_t size = 0; size < kWhole.size(); ++size) {
    EXPECT_EQ(GraphCodeOf(kWhole.substr(0, size)), Code::kCorrupt) << size;
  }
  EXPECT_EQ(GraphCodeOf(kWhole + "\x00"s), Code::kCorrupt);
}

TEST(CowrieGen1, Values) {
  EXPECT_EQ(DecodedInGraph("\x00"s), nullptr);
  EXPECT_EQ(DecodedInGraph("\x01"s), false);
  EXPECT_EQ(DecodedInGraph("\x02"s), true);
  EXPECT_EQ(DecodedInGraph("\x03" + kHuge), "-9223372036854775808");
  EXPECT_EQ(DecodedInGraph("\x04\0\0\0\0\0\0\xF8\x3F"s), 1.5);
  EXPECT_EQ(DecodedInGraph("\x05\x02hi"s), "hi");
  EXPECT_EQ(DecodedInGraph("\x06\x02\x01\x06\x00"s), Json::parse("[false,[]]"));
  EXPECT_EQ(DecodedInGraph("\x08\x02\xFF\x00"s), "/wA=");
  EXPECT_EQ(DecodedInGraph("\x09\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s),
            Json({-1}));
  EXPECT_EQ(DecodedInGraph("\x0B\x02\x01"
                           "a\x00"s),
            Json({"a", ""}));
  EXPECT_EQ(DecodedInGraph("\x0C\x01\0\0\xC0\x3F"s), Json({1.5}));
  EXPECT_EQ(DecodedInGraph("\x0D\0\0\xC0\x3F"s), 1.5);
  EXPECT_EQ(DecodedInGraph("\x30\x02\x01\x01"s),
            Json::parse(R"({"id":1,"neighbors":[-1]})"));
  EXPECT_EQ(DecodedInGraph("\x35\x01n\x00\x07\x00"s),
            Json::parse(R"({"id":"n","labels":[],"props":{}})"));
  EXPECT_EQ(DecodedInGraph("\x36\x01i\x01t\x01"
                           "a\x01"
                           "b\x07\x00"s),
            Json::parse(R"({"id":"i","type":"t","from":"a","to":"b",
                            "props":{}})"));
  EXPECT_EQ(DecodedInGraph("\x37\x01\x01n\x00\x07\x00"s),
            Json::parse(R"({"nodes":[{"id":"n","labels":[],"props":{}}]})"));
  EXPECT_EQ(DecodedInGraph("\x38\x01\x01\x01\x02\x04\x01t\x07\x00"s),
            Json::parse(R"({"sources":[1],"targets":[2],"types":["t"],
                            "props":[{}]})"));
  EXPECT_EQ(DecodedInGraph("\x39\x01\x00\x01x"s),
            Json::parse(R"({"name":"x"})"));
  // The last of equal keys, as in the reference.
  EXPECT_EQ(DecodedInGraph("\x07\x02\x01k\x01\x01k\x02"s),
            Json::parse(R"({"k":true})"));
  // More bytes than a number needs are no fault in the reference either.
  EXPECT_EQ(DecodedInGraph("\x03\x82\x80\x00"s), 1);
}

TEST(CowrieGen1, WhatIsRefused) {
  EXPECT_EQ(GraphCodeOf("SJ\x02\x00\x00\x00"s), Code::kCorrupt);
  EXPECT_EQ(GraphCodeOf("\x39\x01\x04\x01x"s), Code::kCorrupt)
      << "unknown parts";
  EXPECT_EQ(GraphCodeOf("\x39\x02\x00\x05\x01x"s), Code::kCorrupt)
      << "no object";
  for (int tag = 0; tag < 256; ++tag) {
    const bool known =
        tag <= 0x0D || tag == 0x30 || (tag >= 0x35 && tag <= 0x39);
    if (known) continue;
    EXPECT_EQ(GraphCodeOf(WithValue(std::string(1, static_cast<char>(tag)))),
              Code::kCorrupt)
        << tag;
  }
  // Eleven bytes of a number, and ten with too many bits.
  EXPECT_EQ(GraphCodeOf(WithValue("\x03" + std::string(10, '\x80') + "\x01")),
            Code::kCorrupt);
  EXPECT_EQ(GraphCodeOf(WithValue("\x03" + std::string(9, '\xFF') + "\x02")),
            Code::kCorrupt);
}

TEST(CowrieGen1, CountsAreComparedWithTheBytes) {
  for (const std::string& tag :
       {"\x05"s, "\x06"s, "\x07"s, "\x08"s, "\x09"s, "\x0A"s, "\x0B"s, "\x0C"s,
        "\x30\x00"s, "\x37"s}) {
    EXPECT_EQ(GraphCodeOf(WithValue(tag + kHuge)), Code::kCorrupt);
  }
  EXPECT_EQ(GraphCodeOf(WithValue("\x38" + kHuge + "\x00\x00"s)),
            Code::kCorrupt);
  for (const char* parts : {"\x04", "\x08", "\x10", "\x20"}) {
    EXPECT_EQ(GraphCodeOf("\x39"s + parts + "\x00"s + kHuge + "\x01"),
              Code::kCorrupt);
  }
  EXPECT_EQ(GraphCodeOf("\x39\x00\x01"s + kHuge), Code::kCorrupt);
  // Rows times columns: too many, and 2^64, which is 0.
  const std::string half = "\x80\x80\x80\x80\x10";
  EXPECT_EQ(GraphCodeOf("\x39\x40\x00"s + kHuge + "\x01zzzz"), Code::kCorrupt);
  EXPECT_EQ(GraphCodeOf("\x39\x40\x00"s + half + half), Code::kCorrupt);
  EXPECT_EQ(GraphCodeOf("\x39\x40\x00\x01\x02zzzz"s), Code::kCorrupt);
  // An edge index that has its sources alone.
  EXPECT_EQ(GraphCodeOf("\x39\x10\x00\x03\x00\x00\x00"s), Code::kCorrupt);
}

TEST(CowrieGen1, Limits) {
  EXPECT_EQ(GraphCodeOf("\x39\x40\x00"s + kHuge + "\x00"s), Code::kLimit)
      << "rows of nothing";
  const std::string deep = "\x06\x01"s;
  std::string lists;
  for (unsigned i = 0; i < kMaxDepth; ++i) lists += deep;
  EXPECT_EQ(GraphCodeOf(WithValue(lists + "\x01")), Code::kLimit);
  // The graph around them is a level, too.
  EXPECT_TRUE(Ok(Read(WithValue(lists.substr(4) + "\x01"))));
  // The same of nodes in nodes, which take the most of the stack.
  const std::string node = "\x35\x00\x00\x07\x01\x00"s;
  std::string nodes;
  for (unsigned i = 0; i < kMaxDepth; ++i) nodes += node;
  EXPECT_EQ(GraphCodeOf(WithValue(nodes + "\x01")), Code::kLimit);
  EXPECT_TRUE(Ok(Read(WithValue(nodes.substr(2 * node.size()) + "\x01"))));
  const std::string graph = "\x39\x04\x00\x01\x00\x00\x07\x01\x00"s;
  std::string graphs;
  for (unsigned i = 0; i < kMaxDepth; ++i) graphs += graph;
  EXPECT_EQ(GraphCodeOf(WithValue(graphs + "\x01")), Code::kLimit);
}

TEST(CowrieGen1, NumbersAreInTheJsonOnRequest) {
  // More labels than a JSON may have values: an array all the same.
  const std::string many(kMaxValues + 1, '\x02');
  std::string count;
  for (uint64_t n = many.size(); n > 0; n >>= 7) {
    count += static_cast<char>((n & 0x7F) | (n >= 0x80 ? 0x80 : 0));
  }
  const std::string graph = "\x39\x00\x01"s + count + many;
  const Result<CowrieValue> without = Read(graph, /*numbers=*/false);
  ASSERT_TRUE(without) << without.error().Text();
  ASSERT_EQ(without->arrays.size(), 1U);
  EXPECT_EQ(without->arrays[0].shape, std::vector<uint64_t>{many.size()});
  EXPECT_EQ(Read(graph).error().code, Code::kLimit);
}

// Containers of either generation.

ContainerResult Open(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)), {});
}

/// An array's elements by its name; says so where there is none.
std::string Elements(const Container& container, const std::string& name) {
  BlockCache cache(limits::kMiB);
  for (const ArrayInfo& array : ArraysOf(container)) {
    if (array.name != name) continue;
    const Result<Content> content = array.open(cache);
    EXPECT_TRUE(content);
    uint64_t size = DTypeSize(array.dtype);
    for (const uint64_t dimension : array.shape) size *= dimension;
    EXPECT_EQ(content->size(), size);
    return *ReadAll(*content, cache);
  }
  return "no " + name;
}

std::string Words(const std::vector<int64_t>& numbers) {
  std::string bytes;
  for (const int64_t number : numbers) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes += static_cast<char>(static_cast<uint64_t>(number) >> shift);
    }
  }
  return bytes;
}

TEST(CowrieFile, ArraysOfGeneration1) {
  const auto graph = Open(kWhole);
  ASSERT_TRUE(Ok(graph));
  EXPECT_EQ((*graph)->Info(LoneContext())["generation"], 1);
  const Container& c = **graph;
  EXPECT_EQ(Elements(c, "edge_index"), Words({0, 1, 2, -3}));
  EXPECT_EQ(Elements(c, "adjacency/ids"), Words({0, 1}));
  EXPECT_EQ(Elements(c, "adjacency/indptr"), Words({0, 2, 2}));
  EXPECT_EQ(Elements(c, "adjacency/indices"), Words({1, 2}));
  EXPECT_EQ(Elements(c, "node_features"), "\0\0\0\x3F\0\0\0\xBF"s);
  EXPECT_EQ(Elements(c, "node_labels"), Words({1, -1}));
  EXPECT_EQ(Elements(c, "edge_labels"), Words({-64}));
  EXPECT_EQ(Elements(c, "metadata/k"), "\0\0\0\0\0\0\xF8\x3F"s);
  EXPECT_EQ(ArraysOf(c).size(), 9U);
}

TEST(CowrieFile, Generation1IsReadOnlyWhereItIsDeclared) {
  EXPECT_FALSE(IsContainer(AsBytes(kWhole)));
  EXPECT_TRUE(IsContainer(AsBytes("SJ\x02\x00\x00\x41"s)));
  EXPECT_FALSE(IsContainer(AsBytes("SJ\x02\x10\x00\x41"s)));
  EXPECT_FALSE(IsContainer(AsBytes("SJ\x03\x00\x00\x41"s)));
  EXPECT_TRUE(Fails(Open("9 lines of text"), Code::kNotContainer));
  EXPECT_TRUE(Fails(Open("\x39\x00\x00"s), Code::kNotContainer));
}

/// A value of generation 2 with the dictionary {"a", "bc"}.
std::string GraphWith(const std::string& value) {
  return "SJ\x02\x00\x02\x01"s + "a\x02"s + "bc" + value;
}

TEST(CowrieFile, ArraysOfGeneration2) {
  const auto tensor =
      Open(GraphWith("\xD1\x01\x20\x08\x02\x02\x01\x02\x07\x09"s));
  ASSERT_TRUE(Ok(tensor));
  EXPECT_EQ(Elements(**tensor, "bc"), "\x07\x09");
  const auto mask = Open(GraphWith("\x24\x09\x81\x01"s));
  ASSERT_TRUE(Ok(mask));
  EXPECT_EQ(Elements(**mask, "mask"), "\1\0\0\0\0\0\0\1\1"s);
  const auto lists =
      Open(GraphWith("\xD1\x00\x30\x02\x02\x01\x00\x01\x01"s + Words({9})));
  ASSERT_TRUE(Ok(lists));
  EXPECT_EQ(Elements(**lists, "a/indptr"), Words({0, 1, 1}));
  EXPECT_EQ(Elements(**lists, "a/indices"), Words({9}));
  // In a list it has no name, and is in the JSON only.
  const auto listed = Open(GraphWith("\xC1\x24\x01\x01"s));
  ASSERT_TRUE(Ok(listed));
  EXPECT_TRUE(ArraysOf(**listed).empty());
}

TEST(CowrieFile, EdgesOfNumbersAreAnArray) {
  const std::string edges =
      "\x02\x02-1\x01"
      "2\x01t\x00\x01"
      "3\x01"
      "4\x01t\x00"s;
  for (const std::string& value :
       {"\x39\x00"s + edges + "\x00"s, "\x38"s + edges}) {
    const auto graph = Open(GraphWith(value));
    ASSERT_TRUE(Ok(graph));
    EXPECT_EQ(Elements(**graph, "edge_index"), Words({-1, 3, 2, 4}));
  }
  for (const char* id : {"x", "1x", "", " 1", "9223372036854775808"}) {
    const std::string text =
        static_cast<char>(std::string(id).size()) + std::string(id);
    const auto graph = Open(GraphWith("\x38\x01"s + text +
                                      "\x01"
                                      "1\x01t\x00"s));
    ASSERT_TRUE(Ok(graph));
    EXPECT_TRUE(ArraysOf(**graph).empty()) << id;
  }
}

TEST(CowrieFile, ArraysOfACompressedFrameAreInTheDecompressedBytes) {
  const std::string inner = "\x00\x24\x09\x81\x01"s;
  const auto mask = Open("SJ\x02\x05\x05"s + Zstd(inner));
  ASSERT_TRUE(Ok(mask));
  EXPECT_EQ(Elements(**mask, "mask"), "\1\0\0\0\0\0\0\1\1"s);
}

/// A graph of generation 1 that has an edge index of 2^18 edges and no more.
std::string ManyEdges() {
  return "\x39\x10\x00\x80\x80\x10"s + std::string(2 << 18, '\x02');
}

TEST(CowrieFile, EveryRequestCanBeInterrupted) {
  // The numbers of generation 1 are no values at open.
  constexpr size_t kEdges = 1 << 18;
  const std::string bytes = ManyEdges();
  constexpr uint64_t kLeast = 2 * kEdges / 16'384;
  BlockCache cache(64 * limits::kMiB);
  const auto open = [&](const Interrupt& interrupt) {
    return OpenContainer(std::make_shared<MemorySource>(bytes), {},
                         ReadContext(cache).With(interrupt));
  };
  EXPECT_TRUE(Fails(open(InterruptAfter(kLeast)), Code::kInterrupted));
  const auto graph = open(NeverInterrupted());
  ASSERT_TRUE(Ok(graph));
  const std::optional<FoundFile> value = FindFile(**graph, "value.json");
  ASSERT_TRUE(value);
  const InterruptAfter soon(kLeast);
  EXPECT_TRUE(
      Fails(value->Open(ReadContext(cache).With(soon)), Code::kInterrupted));
  // Its numbers as an array.
  const std::vector<ArrayInfo> arrays = ArraysOf(**graph);
  ASSERT_EQ(arrays.size(), 1U);
  const Result<Content> content = arrays[0].open(cache);
  ASSERT_TRUE(Ok(content));
  EXPECT_TRUE(
      Fails(ReadAll(*content, ReadContext(cache).With(InterruptAfter(kLeast))),
            Code::kInterrupted));
  EXPECT_EQ(ReadAll(*content, cache)->size(), 2 * kEdges * sizeof(int64_t));
}

TEST(CowrieFile, AMaskOfMoreBitsThanBytesIsRefused) {
  EXPECT_TRUE(Fails(Open(GraphWith("\x24" + kHuge + "\xFF")), Code::kCorrupt));
  const std::string bits(kMaxValues / 8 + 1, '\xFF');
  EXPECT_TRUE(
      Fails(Open(GraphWith("\x24\x88\x92\xF4\x01"s + bits)), Code::kLimit));
}

}  // namespace
}  // namespace ctxfs::cowrie
