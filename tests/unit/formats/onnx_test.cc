// SPDX-License-Identifier: Apache-2.0
//
// Models of ONNX (docs/formats/onnx.md). golden/onnx has those of real writers.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/formats/onnx/limits.h"
#include "core/formats/onnx/wire.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/onnx_builder.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::onnx {
namespace {

std::vector<std::string> Names(const Container& model) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < EntryCount(model); ++i) {
    names.push_back(EntryPath(model, i));
  }
  return names;
}

Json DocumentOf(const Container& model) {
  const auto file = FindFile(model, "model.json");
  if (!file) return nullptr;
  return Json::parse(*ReadAll(*file->Open(LoneContext()), LoneContext()));
}

TEST(Onnx, IsRecognisedByAVersionAndFieldsUpToTheGraph) {
  const auto probe = [](const Wire& head) {
    return kOnnx.probe(AsBytes(head.bytes()));
  };
  EXPECT_TRUE(probe(Wire().Number(1, 10).Bytes(7, "")));
  EXPECT_TRUE(
      probe(Wire().Number(1, 10).Bytes(2, "writer\n").Number(5, 3).Tag(7, 2)));
  // Nothing else of a model's fields, no other version, no graph.
  EXPECT_FALSE(probe(Wire().Number(1, 10)));
  EXPECT_FALSE(probe(Wire().Number(1, 0).Bytes(7, "")));
  EXPECT_FALSE(probe(Wire().Number(1, 1001).Bytes(7, "")));
  EXPECT_FALSE(probe(Wire().Number(2, 10).Bytes(7, "")));
  EXPECT_FALSE(probe(Wire().Number(1, 10).Number(9, 1).Bytes(7, "")));
  EXPECT_FALSE(probe(Wire().Number(1, 10).Number(7, 1)));
  // A message where a text should be: a SavedModel of TensorFlow.
  EXPECT_FALSE(
      probe(Wire().Number(1, 1).Bytes(2, "\x0A\x12\x08 x").Bytes(7, "")));
  // A text longer than what the probe sees; and a file that ends in one.
  const std::string text(600, 't');
  const Wire text_first = Wire().Number(1, 10).Bytes(6, text).Bytes(7, "");
  EXPECT_TRUE(kOnnx.probe(AsBytes(text_first.bytes()).first(512)));
  EXPECT_FALSE(kOnnx.probe(AsBytes(text_first.bytes()).first(511)));
}

TEST(Onnx, AFileWithoutAGraphIsNoModel) {
  EXPECT_TRUE(Fails(OpenOnnx(Wire().Number(1, 10).Bytes(8, "").bytes()),
                    Code::kNotContainer));
  EXPECT_TRUE(Fails(OpenOnnx(Wire().Number(1, 10).Tag(6, 3).bytes()),
                    Code::kNotContainer));
  EXPECT_TRUE(
      Fails(OpenOnnx(Wire().Number(1, 10).Tag(7, 2).Raw("\x05").bytes()),
            Code::kCorrupt, 2));
}

TEST(Onnx, ReadsVarintsOfUpTo64Bits) {
  const auto read = [](const std::string& bytes) {
    const MemorySource source(bytes);
    LoneContext lone;
    const ReadContext context = lone;
    onnx::WireReader reader(source, context);
    uint64_t at = 0;
    return reader.Varint(at, bytes.size());
  };
  EXPECT_EQ(*read(Wire::Varint(UINT64_MAX)), UINT64_MAX);
  EXPECT_EQ(*read(std::string("\x80\x80\x80\0", 4)), 0U);
  EXPECT_TRUE(Fails(read(std::string(9, '\xFF') + "\x02"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(read(std::string(11, '\x80') + "\x01"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(read("\x80\x80"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(read(""), Code::kCorrupt, 0));
}

TEST(Onnx, FieldsThatBreakTheWireFormat) {
  const auto in_graph = [](const Wire& fields) {
    const auto model = OpenOnnx(ModelOf(fields));
    return model ? std::string("sound") : model.error().what;
  };
  EXPECT_EQ(in_graph(Wire().Number(99, 1).Bytes(1000, "skipped")), "sound");
  EXPECT_TRUE(in_graph(Wire().Tag(0, 0).Raw("\x01")).starts_with("wire: "));
  EXPECT_TRUE(in_graph(Wire().Tag(uint64_t{1} << 29, 0).Raw("\x01"))
                  .starts_with("wire: "));
  for (const unsigned type : {3U, 4U, 6U, 7U}) {
    EXPECT_TRUE(in_graph(Wire().Tag(50, type)).starts_with("wire_type: "));
  }
  EXPECT_TRUE(
      in_graph(Wire().Tag(50, 1).Raw("1234567")).starts_with("length: "));
  EXPECT_TRUE(in_graph(Wire().Tag(50, 2).Raw(Wire::Varint(UINT64_MAX)))
                  .starts_with("length: "));
  EXPECT_TRUE(in_graph(Wire().Tag(50, 0)).starts_with("length: "));
}

TEST(Onnx, OpeningReadsNoElements) {
  Wire graph;
  const std::string data(1 << 20, 'x');
  for (int i = 0; i < 10; ++i) {
    graph.Message(
        5,
        TensorOf("w" + std::to_string(i), 2, {1 << 20}).Bytes(kRawData, data));
  }
  auto source = std::make_shared<FaultySource>(ModelOf(graph));
  ASSERT_TRUE(Ok(OpenOnnx(source)));
  EXPECT_LE(source->bytes_read(), 100'000U);
}

TEST(Onnx, TensorsOfSubgraphsFollowThoseOfTheirGraph) {
  const Wire inner = Wire().Message(5, TensorOf("w", 2, {0}));
  const Wire node = Wire().Bytes(4, "If").Message(
      5, Wire().Bytes(1, "then").Message(6, inner));
  const Wire many = Wire().Bytes(3, "n").Bytes(4, "X").Bytes(7, "d").Message(
      5, Wire().Message(11, inner).Message(11, inner).Bytes(1, "g"));
  const auto model =
      OpenOnnx(ModelOf(Wire().Message(1, node).Message(1, many).Message(
          5, TensorOf("top", 2, {0}))));
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(Names(**model), (std::vector<std::string>{"top", "#0/then/w",
                                                      "n/g/0/w", "n/g/1/w"}));
  EXPECT_EQ(DocumentOf(**model)["graph"]["ops"],
            Json({{"If", 1}, {"d::X", 1}}));
  EXPECT_EQ(DocumentOf(**model)["graph"]["initializers"], 1);
}

TEST(Onnx, GraphsInGraphsAreBounded) {
  Wire graph;
  for (int depth = 0; depth < 33; ++depth) {
    graph = Wire().Message(1, Wire().Message(5, Wire().Message(6, graph)));
  }
  EXPECT_TRUE(Ok(OpenOnnx(ModelOf(graph))));
  graph = Wire().Message(1, Wire().Message(5, Wire().Message(6, graph)));
  EXPECT_TRUE(Fails(OpenOnnx(ModelOf(graph)), Code::kLimit));
  // Types of inputs have their own way of nesting.
  Wire type;
  for (int depth = 0; depth < 60; ++depth) {
    type = Wire().Message(4, Wire().Message(1, type));
  }
  const Wire input = Wire().Message(2, type);
  EXPECT_TRUE(
      Fails(OpenOnnx(ModelOf(Wire().Message(11, input))), Code::kLimit));
}

TEST(Onnx, LargeNumbersAreStringsInModelJson) {
  const auto model = OpenOnnx(Wire()
                                  .Number(1, 10)
                                  .Bytes(7, "")
                                  .Number(5, uint64_t{1} << 53)
                                  .Message(8, Wire().Number(2, UINT64_MAX))
                                  .bytes());
  ASSERT_TRUE(Ok(model));
  const Json json = DocumentOf(**model);
  EXPECT_EQ(json["model_version"], "9007199254740992");
  EXPECT_EQ(json["opset_import"][0]["version"], -1);
}

TEST(Onnx, DocStringsAreCutBetweenCharacters) {
  std::string text(onnx::kMaxDocString - 1, 'x');
  text += "\xC3\xA9tail";
  const auto model =
      OpenOnnx(Wire().Number(1, 10).Bytes(6, text).Bytes(7, "").bytes());
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(DocumentOf(**model)["doc_string"],
            std::string(onnx::kMaxDocString - 1, 'x'));
}

TEST(Onnx, AModelJsonThatIsTooLargeIsLeftOut) {
  Wire graph;
  const Wire input = Wire().Bytes(1, std::string(1 << 20, 'i'));
  for (int i = 0; i < 65; ++i) graph.Message(11, input);
  graph.Message(5, TensorOf("w", 2, {1}).Bytes(kRawData, "r"));
  const auto model = OpenOnnx(ModelOf(graph));
  ASSERT_TRUE(Ok(model));
  EXPECT_FALSE(FindFile(**model, "model.json"));
  EXPECT_EQ(ReadOnnx(**model), "r");
  EXPECT_NE((*model)->Info(LoneContext())["warnings"].dump().find(
                "value_too_large: "),
            std::string::npos);
}

TEST(Onnx, Item43_5_AModelJsonWithoutAllOperatorsIsLeftOut) {
  Wire graph;
  const Wire input = Wire().Bytes(1, std::string(1 << 20, 'i'));
  for (int i = 0; i < 63; ++i) graph.Message(11, input);
  for (const char name : {'a', 'b'}) {
    graph.Message(1, Wire().Bytes(4, std::string(700'000, name)));
  }
  const auto model = OpenOnnx(ModelOf(graph));
  ASSERT_TRUE(Ok(model));
  EXPECT_FALSE(FindFile(**model, "model.json"));
  EXPECT_NE((*model)->Info(LoneContext())["warnings"].dump().find(
                "value_too_large: "),
            std::string::npos);
}

TEST(Onnx, SalvageShowsTheTensorsBeforeAFault) {
  const std::string bytes =
      ModelOf(Wire()
                  .Message(5, TensorOf("w", 2, {1}).Bytes(kRawData, "r"))
                  .Message(5, Wire().Tag(50, 3)));
  EXPECT_TRUE(Fails(OpenOnnx(bytes), Code::kCorrupt));
  const auto model = OpenOnnx(bytes, /*salvage=*/true);
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(Names(**model), std::vector<std::string>{"w"});
  EXPECT_EQ(ReadOnnx(**model), "r");
  EXPECT_EQ((*model)->Inspect(LoneContext()).size(), 1U);
}

TEST(Onnx, SalvageShowsTheTensorsOfAModelThatIsCutOff) {
  const auto tensor = [](std::string_view name) {
    return TensorOf(name, 2, {1}).Bytes(kRawData, "r");
  };
  const Wire constant =
      Wire()
          .Bytes(2, "c")
          .Bytes(4, "Constant")
          .Message(5, Wire().Bytes(1, "value").Message(5, tensor("")));
  const Wire graph = Wire()
                         .Message(1, constant)
                         .Bytes(2, "cut")
                         .Message(5, tensor("a"))
                         .Message(5, tensor("b"));
  const std::string whole = ModelOf(graph);
  // Within the last tensor, as an interrupted download leaves a model.
  const std::string bytes = whole.substr(0, whole.size() - 1);
  EXPECT_TRUE(Fails(OpenOnnx(bytes), Code::kCorrupt));
  const auto model = OpenOnnx(bytes, /*salvage=*/true);
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(Names(**model), std::vector<std::string>{"a"});
  EXPECT_EQ(ReadOnnx(**model), "r");
  EXPECT_TRUE(FindFile(**model, "constants/c"));
  EXPECT_EQ(DocumentOf(**model)["graph"]["name"], "cut");
  EXPECT_EQ((*model)->Inspect(LoneContext()).size(), 1U);
  // At every byte: a model, or the reason why not.
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto cut = OpenOnnx(whole.substr(0, size), /*salvage=*/true);
    if (cut) {
      EXPECT_LE(EntryCount(**cut), 1U) << size;
    }
  }
}

TEST(Onnx, SalvagingStopsWhenTheRequesterGivesUp) {
  Wire graph;
  for (int i = 0; i < 20'000; ++i) graph.Message(1, Wire().Bytes(4, "Add"));
  const std::string whole = ModelOf(graph);
  auto source =
      std::make_shared<MemorySource>(whole.substr(0, whole.size() - 1));
  BlockCache cache(0);
  const InterruptAfter interrupt(3);
  OpenOptions options;
  options.salvage = true;
  EXPECT_TRUE(Fails(kOnnx.open(source, options, {cache, interrupt}),
                    Code::kInterrupted));
}

TEST(Onnx, OpeningStopsWhenTheRequesterGivesUp) {
  Wire graph;
  for (int i = 0; i < 20'000; ++i) graph.Message(1, Wire().Bytes(4, "Add"));
  auto source = std::make_shared<MemorySource>(ModelOf(graph));
  BlockCache cache(0);
  const InterruptAfter interrupt(2);
  EXPECT_TRUE(
      Fails(kOnnx.open(source, {}, {cache, interrupt}), Code::kInterrupted));
}

}  // namespace
}  // namespace ctxfs::onnx
