// SPDX-License-Identifier: Apache-2.0
//
// Cowrie-GNN graphs by bytes made for it (docs/sjgn.md).
#include <gtest/gtest.h>

#include "core/container/format.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>(0x80 | (value & 0x7F));
  }
  return bytes + static_cast<char>(value);
}

std::string Text(const std::string& text) {
  return Varint(text.size()) + text;
}

std::string Section(uint64_t kind, const std::string& name,
                    const std::string& body) {
  std::string length(8, '\0');
  Poke(length, 0, uint64_t{body.size()});
  return Varint(kind) + Text(name) + length + body;
}

std::string Graph(const std::vector<std::string>& sections) {
  std::string bytes = std::string("SJGN\x01\x00", 6) + Varint(sections.size());
  for (const std::string& section : sections) bytes += section;
  return bytes;
}

ContainerResult Open(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)), {});
}

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
  const size_t arrays = (*graph)->Arrays().size();
  EXPECT_EQ((*graph)->Info()["warnings"].size(), arrays == 0 ? 1U : 0U);
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
  EXPECT_FALSE(GivesArrays(
      kFeature, "\x01" + Text("x") + '\0' + Varint(UINT64_MAX)));
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
  EXPECT_TRUE(Fails(Open(std::string("SJGN\x02\x00\x00", 7)), Code::kVersion));
  EXPECT_TRUE(Ok(Open(head + Varint(0))));
  EXPECT_TRUE(Ok(Open(std::string("SJGN\x01\x10\x00\x00", 8))));
}

TEST(Sjgn, PackedOnesDecodeToWhatTheySay) {
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

}  // namespace
}  // namespace ctxfs
