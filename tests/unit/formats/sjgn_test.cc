// SPDX-License-Identifier: Apache-2.0
//
// Cowrie-GNN graphs by bytes made for it (docs/formats/sjgn.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::graph {
namespace {

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>(0x80 | (value & 0x7F));
  }
  return bytes + static_cast<char>(value);
}

std::string Text(const std::string& text) { return Varint(text.size()) + text; }

std::string Section(uint64_t kind, const std::string& name,
                    const std::string& body) {
  std::string length(8, '\0');
  Poke(length, 0, uint64_t{body.size()});
  return Varint(kind) + Text(name) + length + body;
}

/// In version 1.1 each section has a byte more, which writers leave 0.
std::string Graph11(const std::vector<std::string>& sections) {
  std::string bytes =
      std::string("SJGN\x01\x10\x00", 7) + Varint(sections.size());
  for (const std::string& section : sections) {
    bytes += section[0] + std::string(1, '\0') + section.substr(1);
  }
  return bytes;
}

std::string Graph(const std::vector<std::string>& sections) {
  std::string bytes = std::string("SJGN\x01\x00", 6) + Varint(sections.size());
  for (const std::string& section : sections) bytes += section;
  return bytes;
}

ContainerResult Open(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)), {});
}

constexpr uint64_t kNodes = 1;
constexpr uint64_t kEdges = 2;
constexpr uint64_t kFeature = 3;
constexpr uint64_t kSplit = 4;
constexpr uint64_t kAux = 5;

/// A feature section's body: f32 of these dimensions and rows.
std::string Feature(const std::vector<uint64_t>& dims, uint64_t rows,
                    const std::string& data, char dtype = 0) {
  std::string body = "\x01" + Text("x") + dtype + Varint(dims.size());
  for (const uint64_t dimension : dims) body += Varint(dimension);
  return body + Varint(rows) + data;
}

/// Whether such a section gives arrays; if not, a warning says why.
bool GivesArrays(uint64_t kind, const std::string& body) {
  const auto graph = Open(Graph({Section(kind, "s", body)}));
  EXPECT_TRUE(Ok(graph));
  const size_t arrays = ArraysOf(**graph).size();
  EXPECT_EQ((*graph)->Info(LoneContext())["warnings"].size(),
            arrays == 0 ? 1U : 0U);
  EXPECT_EQ(*ReadEntry(**graph, 0), body) << "raw whatever is in it";
  return arrays > 0;
}

TEST(Sjgn, FeaturesAreAsLongAsTheirShape) {
  EXPECT_TRUE(GivesArrays(kFeature, Feature({3}, 2, std::string(24, 'x'))));
  EXPECT_TRUE(GivesArrays(kFeature, Feature({}, 2, std::string(8, 'x'))));
  EXPECT_TRUE(GivesArrays(kFeature, Feature({0}, 5, "")));
  EXPECT_FALSE(GivesArrays(kFeature, Feature({0}, UINT64_MAX, "")));
  EXPECT_FALSE(GivesArrays(kFeature, Feature({3}, 2, std::string(23, 'x'))));
  EXPECT_FALSE(GivesArrays(kFeature, Feature({3}, 2, std::string(25, 'x'))));
  EXPECT_FALSE(GivesArrays(
      kFeature, Feature({uint64_t{1} << 62}, 1, "")));  // times 4 is 0
  EXPECT_FALSE(GivesArrays(kFeature, Feature({3}, 2, "x", 8)));
  EXPECT_FALSE(GivesArrays(kFeature, ""));
  EXPECT_FALSE(GivesArrays(kFeature, std::string("\x02\x01x\0\0\0", 6)));
  EXPECT_FALSE(
      GivesArrays(kFeature, "\x01" + Text("x") + '\0' + Varint(UINT64_MAX)));
}

TEST(Sjgn, SplitsHoldWhatTheyCount) {
  const std::string one = Varint(1) + std::string(8, '\1');
  EXPECT_TRUE(GivesArrays(kSplit, '\0' + one + one + Varint(0)));
  EXPECT_FALSE(GivesArrays(kSplit, '\0' + one + one));
  EXPECT_FALSE(GivesArrays(kSplit, '\0' + Varint(UINT64_MAX)));
  EXPECT_FALSE(GivesArrays(kSplit, '\0' + Varint(uint64_t{1} << 61)));
  EXPECT_FALSE(GivesArrays(kSplit, "\x02" + one + one + one));
  const std::string mask = Varint(2) + "\xff\x01";
  EXPECT_TRUE(GivesArrays(kSplit, "\x01" + Varint(9) + mask + mask + mask));
  EXPECT_FALSE(GivesArrays(kSplit, "\x01" + Varint(17) + mask + mask + mask));
  EXPECT_FALSE(
      GivesArrays(kSplit, "\x01" + Varint(UINT64_MAX) + mask + mask + mask));
}

TEST(Sjgn, AdjacencyIsWholeNumbers) {
  const std::string numbers = Varint(8) + std::string(8, '\0');
  const std::string counts = Varint(1) + Varint(1);
  EXPECT_TRUE(GivesArrays(kAux, '\0' + counts + numbers + numbers));
  EXPECT_TRUE(GivesArrays(kAux, "\x01" + counts + numbers + numbers));
  EXPECT_FALSE(GivesArrays(kAux, "\x02" + counts + numbers + numbers));
  EXPECT_FALSE(GivesArrays(kAux, '\0' + counts + numbers));
  EXPECT_FALSE(
      GivesArrays(kAux, '\0' + counts + numbers + Varint(7) + "1234567"));
  EXPECT_FALSE(GivesArrays(kAux, '\0' + counts + Varint(UINT64_MAX - 7)));
}

TEST(Sjgn, EveryCutIsRefused) {
  const std::string whole = Graph(
      {Section(kFeature, "x", Feature({1}, 1, "abcd")), Section(1, "n", "ab")});
  ASSERT_TRUE(Ok(Open(whole)));
  for (size_t size = 4; size < whole.size(); ++size) {
    EXPECT_TRUE(Fails(Open(whole.substr(0, size)), Code::kCorrupt)) << size;
  }
}

TEST(Sjgn, CountsAndVersionsAreLimited) {
  const std::string head("SJGN\x01\x00", 6);
  EXPECT_TRUE(Fails(Open(head + Varint(UINT64_MAX)), Code::kLimit));
  EXPECT_TRUE(
      Fails(Open(head + std::string(10, '\xff') + '\1'), Code::kCorrupt));
  EXPECT_TRUE(
      Fails(Open(std::string("SJGN\x01\x11\x00\x00", 8)), Code::kVersion, 5));
  EXPECT_TRUE(Fails(Open(std::string("SJGN\x02\x00\x00", 7)), Code::kVersion));
  EXPECT_TRUE(Ok(Open(head + Varint(0))));
  EXPECT_TRUE(Ok(Open(std::string("SJGN\x01\x10\x00\x00", 8))));
}

TEST(Sjgn, PackedGraphsDecodeToTheirDeclaredSize) {
  const std::string graph = Graph({Section(1, "n", "body")});
  const auto packed = [](uint64_t size, const std::string& frame) {
    std::string bytes = "SJGZ" + std::string(4, '\0') + frame;
    Poke(bytes, 4, static_cast<uint32_t>(size));
    return bytes;
  };
  ASSERT_TRUE(Ok(Open(packed(graph.size(), Zstd(graph)))));
  EXPECT_EQ(*ReadEntry(**Open(packed(graph.size(), Zstd(graph))), 0), "body");
  EXPECT_FALSE(Open(packed(graph.size() + 1, Zstd(graph))));
  EXPECT_FALSE(Open(packed(graph.size() - 1, Zstd(graph))));
  EXPECT_FALSE(Open(packed(4, Zstd("SJGZ"))));
  EXPECT_FALSE(Open(packed(0, "")));
  EXPECT_TRUE(Fails(Open(packed(UINT32_MAX, Zstd(graph))), Code::kLimit, 4));
  for (size_t size = 4; size < 8; ++size) {
    EXPECT_FALSE(Open(packed(0, "").substr(0, size)));
  }
}

// Tables: streams of events.

/// A cowrie frame of an object, whose values are given as they are stored.
std::string Event(
    const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string frame = std::string("SJ\x02\x00", 4) + Varint(fields.size());
  std::string object = "\x07" + Varint(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    frame += Text(fields[i].first);
    object += Varint(i) + fields[i].second;
  }
  return frame + object;
}

std::string Small(int number) {
  return std::string(1, static_cast<char>(0x40 + number));
}

std::string Edge(const std::string& from, const std::string& to, int op = 0) {
  return Event({{"k", Small(1)},
                {"op", Small(op)},
                {"t", Small(0)},
                {"f", "\x05" + Text(from)},
                {"to", "\x05" + Text(to)}});
}

std::string Node(const std::string& id, int label = 0) {
  return Event({{"k", Small(0)},
                {"op", Small(0)},
                {"id", "\x05" + Text(id)},
                {"l", "\xC1" + Small(label)}});
}

const std::string kHead =
    std::string("SJGS\x01\x00\x00\x01", 8) + Text("label");
const std::string kEnd(4, '\0');

std::string Frame(const std::string& event) {
  std::string length(4, '\0');
  Poke(length, 0, static_cast<uint32_t>(event.size()));
  return length + event;
}

std::string Table(const std::vector<std::string>& events) {
  std::string bytes = kHead;
  for (const std::string& event : events) bytes += Frame(event);
  return bytes + kEnd;
}

/// The file at `path` that is no entry, if it exists.
std::optional<std::string> FileAt(const Container& graph,
                                  const std::string& path) {
  BlockCache cache(1 << 20);
  const std::optional<FoundFile> file = FindFile(graph, path);
  if (!file || !*file->Exists(cache)) return std::nullopt;
  const Result<Content> content = file->Open(cache);
  if (!content) return std::nullopt;
  EXPECT_EQ(file->known_size().value_or(content->size()), content->size());
  return *ReadAll(*content, cache);
}

std::string Words(const std::vector<int64_t>& numbers) {
  std::string bytes(8 * numbers.size(), '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    Poke(bytes, 8 * i, static_cast<uint64_t>(numbers[i]));
  }
  return bytes;
}

TEST(Sjgn, TablesAreLinesAndArrays) {
  const auto graph = Open(
      Graph({Section(kEdges, "e", Table({Edge("-1", "2"), Edge("3", "4")})),
             Section(kNodes, "n", Table({Node("7")}))}));
  ASSERT_TRUE(Ok(graph));
  EXPECT_TRUE((*graph)->Info(LoneContext())["warnings"].empty());
  EXPECT_EQ(FileAt(**graph, "arrays/e/src"), Words({-1, 3}));
  EXPECT_EQ(FileAt(**graph, "arrays/e/dst"), Words({2, 4}));
  EXPECT_EQ(FileAt(**graph, "arrays/n/id"), Words({7}));
  EXPECT_EQ(Json::parse(*FileAt(**graph, "tables/n.jsonl")),
            Json::parse(R"({"kind":"node","op":"upsert","id":"7",
                            "labels":["label"],"props":{}})"));
  const std::string lines = *FileAt(**graph, "tables/e.jsonl");
  EXPECT_EQ(Json::parse(lines.substr(0, lines.find('\n'))),
            Json::parse(R"({"kind":"edge","op":"upsert","from":"-1","to":"2",
                            "type":"label","props":{}})"));
  std::map<std::string, std::vector<uint64_t>> shapes;
  for (const ArrayInfo& array : ArraysOf(**graph)) {
    shapes[array.name] = array.shape;
  }
  EXPECT_EQ(shapes, (std::map<std::string, std::vector<uint64_t>>{
                        {"e/src", {2}}, {"e/dst", {2}}, {"n/id", {1}}}));
}

TEST(Sjgn, EmptyTablesAreEmptyArrays) {
  const auto graph = Open(Graph({Section(kEdges, "e", Table({}))}));
  ASSERT_TRUE(Ok(graph));
  EXPECT_EQ(FileAt(**graph, "arrays/e/src"), "");
  EXPECT_EQ(FileAt(**graph, "tables/e.jsonl"), "");
  EXPECT_TRUE((*graph)->Info(LoneContext())["warnings"].empty());
}

/// Whether there is a JSON of such a table of edges; with a warning there is
/// no array.
bool HasLines(const std::string& body) {
  const auto graph = Open(Graph({Section(kEdges, "e", body)}));
  EXPECT_TRUE(Ok(graph));
  EXPECT_EQ((*graph)->Info(LoneContext())["warnings"].size(), 1U);
  EXPECT_TRUE(ArraysOf(**graph).empty());
  EXPECT_EQ(FileAt(**graph, "arrays/e/src"), std::nullopt);
  EXPECT_EQ(*ReadEntry(**graph, 0), body) << "raw whatever is in it";
  return FileAt(**graph, "tables/e.jsonl").has_value();
}

TEST(Sjgn, TablesThatAreNotListsOfEdgesHaveLines) {
  EXPECT_TRUE(HasLines(Table({Edge("a", "2")})));
  EXPECT_TRUE(HasLines(Table({Edge("1", "2"), Edge("1", "2", /*op=*/1)})));
  EXPECT_TRUE(HasLines(Table({Edge("1", "2"), Node("1")})));
}

TEST(Sjgn, UnreadableTablesStayRaw) {
  const std::string whole = Table({Edge("1", "2"), Edge("3", "4")});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(HasLines(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(HasLines(whole + "x"));
  EXPECT_FALSE(HasLines(Table({Edge("1", "2", /*op=*/2)})));
  EXPECT_FALSE(HasLines(Table({"\x40"})));
  EXPECT_FALSE(HasLines(Table({std::string("SJ\x02\x00\x00\x40", 6)})));
  EXPECT_FALSE(HasLines(Table({Event({{"k", Small(3)}})})));
  EXPECT_FALSE(HasLines(Table({Event({{"k", Small(1)}})}))) << "no ends";
  EXPECT_FALSE(HasLines(Table({Node("1", /*label=*/1)}))) << "no such label";
  // Packed events: thousands that unpack to much would take hours.
  EXPECT_FALSE(HasLines(Table({std::string("SJ\x02\x05", 4) + Varint(2) +
                               Zstd(std::string("\0\xD0", 2))})));
  // Counts without bytes, in the dictionaries and before an event.
  EXPECT_FALSE(HasLines(kHead.substr(0, 6) + Varint(UINT64_MAX)));
  EXPECT_FALSE(HasLines(kHead.substr(0, 7) + Varint(UINT64_MAX)));
  EXPECT_FALSE(HasLines(kHead + std::string(4, '\xff')));
}

TEST(Sjgn, LabelsThatAreUsedAgainAndAgainAreLimited) {
  std::string head = std::string("SJGS\x01\x00\x00\x01", 8);
  head += Text(std::string(1 << 20, 'x'));
  const std::string labels = "\x06" + Varint(300) + std::string(300, '\x40');
  const std::string node =
      Event({{"k", Small(0)}, {"id", "\x05" + Text("1")}, {"l", labels}});
  const auto graph =
      Open(Graph({Section(kNodes, "n", head + Frame(node) + kEnd)}));
  ASSERT_TRUE(Ok(graph));
  EXPECT_EQ(FileAt(**graph, "tables/n.jsonl"), std::nullopt);
}

/// A table of nodes, each with the same label of `label` bytes.
std::string Labelled(int nodes, size_t label) {
  std::string bytes =
      std::string("SJGS\x01\x00\x00\x01", 8) + Text(std::string(label, 'x'));
  for (int i = 0; i < nodes; ++i) bytes += Frame(Node(std::to_string(i)));
  return bytes + kEnd;
}

TEST(Sjgn, OpeningStopsWhenItIsInterrupted) {
  const auto source = std::make_shared<MemorySource>(
      Graph({Section(kNodes, "n", Labelled(20'000, 1))}));
  BlockCache cache(0);
  // Once a section, and once for a thousand events.
  for (const uint64_t checks : {0U, 1U, 10U}) {
    const InterruptAfter interrupt(checks);
    EXPECT_TRUE(Fails(OpenContainer(source, {}, ReadContext(cache, interrupt)),
                      Code::kInterrupted))
        << checks;
  }
}

TEST(Sjgn, DecodingATableStopsWhenItIsInterrupted) {
  const auto graph = Open(Graph({Section(kNodes, "n", Labelled(5000, 1))}));
  ASSERT_TRUE(Ok(graph));
  for (const char* path : {"tables/n.jsonl", "arrays/n/id"}) {
    const std::optional<FoundFile> file = FindFile(**graph, path);
    ASSERT_TRUE(file);
    BlockCache cache(limits::kGiB);
    const InterruptAfter interrupt(10);  // of about 20 checks
    EXPECT_TRUE(
        Fails(file->Open(ReadContext(cache, interrupt)), Code::kInterrupted));
    EXPECT_LT(interrupt.asked(), 20U) << "it stops at once";
  }
}

/// Never interrupts; keeps the most heap memory that was in use at a check.
class HeapPeak final : public Interrupt {
 public:
  bool interrupted() const override {
    most_ = std::max(most_, HeapBytes());
    return false;
  }
  int64_t most() const { return most_; }

 private:
  mutable int64_t most_ = 0;
};

// A label of the dictionary is a byte in each event.
TEST(Sjgn, TheCostOfATableIsNotLessThanWhatItTakes) {
  for (const size_t label : {size_t{1}, size_t{100'000}}) {
    const auto graph =
        Open(Graph({Section(kNodes, "n", Labelled(200, label))}));
    ASSERT_TRUE(Ok(graph));
    for (const char* path : {"tables/n.jsonl", "arrays/n/id"}) {
      const std::optional<FoundFile> file = FindFile(**graph, path);
      ASSERT_TRUE(file);
      BlockCache cache(limits::kGiB);
      const int64_t before = HeapBytes();
      const HeapPeak peak;
      const Result<Content> content = file->Open(ReadContext(cache, peak));
      ASSERT_TRUE(Ok(content));
      // The result is made while the text is still there.
      const auto taken = static_cast<uint64_t>(peak.most() - before);
      EXPECT_GE(content->LargestBlock(), content->size() + taken) << path;
    }
  }
}

// An interrupt or a failed read says nothing about a table.
TEST(Sjgn, AFailedReadTakesNoArrayAway) {
  const auto source = std::make_shared<FaultySource>(
      Graph({Section(kEdges, "e", Table({Edge("1", "2")}))}));
  const auto graph = OpenContainer(source, {});
  ASSERT_TRUE(Ok(graph));
  EXPECT_EQ(ArraysOf(**graph).size(), 2U);
  source->FailNext();
  const std::vector<ArrayInfo> arrays = ArraysOf(**graph);
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].shape, (std::vector<uint64_t>{1}));
  source->FailNext();
  EXPECT_TRUE(Fails(arrays[0].open(LoneContext()), Code::kIo));
  EXPECT_TRUE(Ok(arrays[0].open(LoneContext())));
}

TEST(Sjgn, AFailedReadRefusesTheGraphAndNotASection) {
  const auto source = std::make_shared<FaultySource>(
      Graph({Section(kNodes, "n", Labelled(1000, 1))}));
  source->FailAfter(50);
  EXPECT_TRUE(Fails(OpenContainer(source, {}), Code::kIo));
}

TEST(Sjgn, MetaIsJsonWhateverItIsStoredAs) {
  const std::string cowrie = Event({{"a", Small(1)}});
  for (const auto& bytes : {Graph({Section(0, "meta", cowrie)}),
                            Graph11({Section(0, "meta", cowrie)}),
                            Graph({Section(0, "meta", "{\"a\":1}")}),
                            Graph11({Section(0, "meta", "{\"a\":1}")})}) {
    const auto graph = Open(bytes);
    ASSERT_TRUE(Ok(graph));
    EXPECT_EQ(Json::parse(*FileAt(**graph, "meta.json")),
              Json::parse("{\"a\":1}"));
  }
  const auto cut = Open(Graph({Section(0, "meta", cowrie.substr(0, 6))}));
  ASSERT_TRUE(Ok(cut));
  EXPECT_EQ(FileAt(**cut, "meta.json"), std::nullopt);
}

}  // namespace
}  // namespace ctxfs::graph
