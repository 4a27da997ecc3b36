// SPDX-License-Identifier: Apache-2.0
//
// Models of ONNX (docs/onnx.md). golden/onnx has those of real writers.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/formats/onnx/external.h"
#include "core/formats/onnx/limits.h"
#include "core/formats/onnx/types.h"
#include "core/formats/onnx/wire.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/wire_builder.h"

namespace ctxfs {

extern const Format kOnnx;

namespace {

// Numbers of fields (docs/onnx.md, section 3).
constexpr uint64_t kDims = 1;
constexpr uint64_t kDataType = 2;
constexpr uint64_t kFloatData = 4;
constexpr uint64_t kInt32Data = 5;
constexpr uint64_t kStringData = 6;
constexpr uint64_t kInt64Data = 7;
constexpr uint64_t kName = 8;
constexpr uint64_t kRawData = 9;
constexpr uint64_t kExternalData = 13;
constexpr uint64_t kDataLocation = 14;

Wire TensorOf(std::string_view name, uint64_t type,
              const std::vector<uint64_t>& dims) {
  Wire tensor;
  for (const uint64_t dim : dims) tensor.Number(kDims, dim);
  return tensor.Number(kDataType, type).Bytes(kName, name);
}

std::string ModelOf(const Wire& graph) {
  return Wire().Number(1, 10).Message(7, graph).bytes();
}
std::string ModelWith(const Wire& tensor) {
  return ModelOf(Wire().Message(5, tensor));
}

Wire Entry(std::string_view key, std::string_view value) {
  return Wire().Bytes(1, key).Bytes(2, value);
}

/// A model with files beside it.
class ModelSource final : public Source {
 public:
  ModelSource(std::string bytes, std::map<std::string, std::string> files)
      : bytes_(std::move(bytes)), files_(std::move(files)) {}

  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out) const override {
    return bytes_.ReadAt(offset, out);
  }
  Result<std::shared_ptr<const Source>> OpenSibling(
      const std::string& path) const override {
    ++opened_;
    const auto found = files_.find(path);
    if (found == files_.end()) return Error{Code::kNotFound, "not there"};
    return std::shared_ptr<const Source>(
        std::make_shared<MemorySource>(found->second));
  }
  int opened() const { return opened_; }

 private:
  MemorySource bytes_;
  std::map<std::string, std::string> files_;
  mutable int opened_ = 0;
};

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options = {}) {
  return kOnnx.open(std::move(source), options, LoneContext());
}
Result<std::shared_ptr<const Container>> Open(std::string bytes,
                                              bool salvage = false) {
  OpenOptions options;
  options.salvage = salvage;
  return Open(std::make_shared<MemorySource>(std::move(bytes)), options);
}

/// The bytes of tensor `number`, or "error: " and why there are none.
std::string Read(const Container& model, uint32_t number = 0) {
  BlockCache cache(1 << 24);
  const Result<Content> content = model.Entries()->Open(number, cache);
  if (!content) return "error: " + content.error().what;
  EXPECT_EQ(content->size(), *model.Entries()->Size(number, LoneContext()));
  const Result<std::string> bytes = ReadAll(*content, cache);
  return bytes ? *bytes : "error: " + bytes.error().what;
}
std::string ReadTensor(const Wire& tensor) {
  const auto model = Open(ModelWith(tensor));
  if (!model) return "refused: " + model.error().Text();
  return Read(**model);
}

bool IsError(const std::string& text) { return text.starts_with("error: "); }

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
  EXPECT_TRUE(Fails(Open(Wire().Number(1, 10).Bytes(8, "").bytes()),
                    Code::kNotContainer));
  EXPECT_TRUE(
      Fails(Open(Wire().Number(1, 10).Tag(6, 3).bytes()), Code::kNotContainer));
  EXPECT_TRUE(Fails(Open(Wire().Number(1, 10).Tag(7, 2).Raw("\x05").bytes()),
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
    const auto model = Open(ModelOf(fields));
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

TEST(Onnx, RawDataIsARangeOfTheModel) {
  const std::string bytes("\1\2\3\4\5\6", 6);
  auto source = std::make_shared<FaultySource>(
      ModelWith(TensorOf("w", 5, {3}).Bytes(kRawData, bytes)));
  const auto model = Open(source);
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(Read(**model), bytes);
  const EntryInfo info = DescribeEntry(**model, 0);
  EXPECT_EQ(info.dtype, "i16");
  EXPECT_EQ(info.shape, (std::vector<uint64_t>{3}));
  EXPECT_EQ(info.size, 6U);
  EXPECT_EQ(info.verified, "none");
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
  ASSERT_TRUE(Ok(Open(source)));
  EXPECT_LE(source->bytes_read(), 100'000U);
}

TEST(Onnx, SizesMustBeThoseOfTypeAndShape) {
  const auto raw = [](uint64_t type, const std::vector<uint64_t>& dims,
                      size_t size) {
    return ReadTensor(
        TensorOf("w", type, dims).Bytes(kRawData, std::string(size, '\1')));
  };
  EXPECT_EQ(raw(1, {2}, 8).size(), 8U);
  EXPECT_EQ(raw(1, {}, 4).size(), 4U);
  EXPECT_EQ(raw(22, {7}, 4).size(), 4U);
  EXPECT_EQ(raw(27, {3}, 3).size(), 3U);  // 18 bits
  EXPECT_EQ(raw(15, {2}, 32).size(), 32U);
  EXPECT_TRUE(IsError(raw(1, {2}, 7)));
  EXPECT_TRUE(IsError(raw(1, {2}, 9)));
  EXPECT_TRUE(IsError(raw(0, {1}, 4)));
  EXPECT_TRUE(IsError(raw(99, {1}, 4)));
  EXPECT_TRUE(IsError(raw(1, {UINT64_MAX}, 4)));
  // Products of 2^64 and of 2^61 elements of 8 bytes.
  EXPECT_TRUE(IsError(raw(2, {uint64_t{1} << 32, uint64_t{1} << 32}, 0)));
  EXPECT_TRUE(IsError(raw(7, {uint64_t{1} << 61}, 0)));
  EXPECT_EQ(raw(7, {uint64_t{1} << 62, 0, uint64_t{1} << 62}, 0), "");
}

TEST(Onnx, PackedIntegersCannotOverflowABitCount) {
  const onnx::ElementType& i2 = *onnx::ElementTypeOf(26);
  EXPECT_EQ(onnx::BytesOf(i2, 5), 2U);
  EXPECT_EQ(onnx::BytesOf(i2, UINT64_MAX / 2 + 1), std::nullopt);
  EXPECT_EQ(onnx::ValuesOf(*onnx::ElementTypeOf(15), 3), 6U);
  EXPECT_EQ(onnx::ValuesOf(*onnx::ElementTypeOf(21), 3), 2U);
}

TEST(Onnx, TypedValuesAreCutToTheirElements) {
  EXPECT_EQ(ReadTensor(TensorOf("w", 3, {3})
                           .Bytes(kInt32Data,
                                  Wire::Varint(300) + Wire::Varint(UINT64_MAX))
                           .Number(kInt32Data, 7)),
            std::string("\x2C\xFF\x07", 3));
  EXPECT_EQ(ReadTensor(TensorOf("w", 13, {1}).Number(11, UINT64_MAX)),
            std::string(8, '\xFF'));
  EXPECT_EQ(ReadTensor(TensorOf("w", 16, {1}).Number(kInt32Data, 0x3F80)),
            std::string("\x80\x3F", 2));
  // Six bits each, low bits first: 0b000001, 0b111111, 0b000010.
  EXPECT_EQ(ReadTensor(TensorOf("w", 27, {3})
                           .Number(kInt32Data, 1)
                           .Number(kInt32Data, 0xFF)
                           .Number(kInt32Data, 2)),
            std::string("\xC1\x2F\x00", 3));
}

TEST(Onnx, FloatsInOneChunkAreARangeAndOthersAreJoined) {
  const std::string chunk("\0\0\x80\x3F", 4);  // 1.0
  EXPECT_EQ(ReadTensor(TensorOf("w", 1, {1}).Bytes(kFloatData, chunk)), chunk);
  EXPECT_EQ(ReadTensor(TensorOf("w", 1, {3})
                           .Bytes(kFloatData, chunk)
                           .Float(kFloatData, 1.0F)
                           .Bytes(kFloatData, chunk)),
            chunk + chunk + chunk);
  EXPECT_EQ(ReadTensor(TensorOf("w", 14, {1}).Bytes(kFloatData, chunk + chunk)),
            chunk + chunk);
  EXPECT_TRUE(IsError(
      ReadTensor(TensorOf("w", 1, {1}).Bytes(kFloatData, chunk + "x"))));
}

TEST(Onnx, CountsOfTypedValuesThatAreWrongAreErrors) {
  const auto chunk = [](int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += Wire::Varint(1);
    return bytes;
  };
  const auto read = [](uint64_t n, const std::string& bytes) {
    return ReadTensor(TensorOf("w", 7, {n}).Bytes(kInt64Data, bytes));
  };
  EXPECT_EQ(read(3, chunk(3)).size(), 24U);
  EXPECT_TRUE(IsError(read(4, chunk(3))));
  // Only reading them tells.
  EXPECT_TRUE(IsError(read(2, chunk(3))));
  EXPECT_TRUE(IsError(read(3, std::string("\x80\x80\x80\x80", 4))));
  EXPECT_TRUE(IsError(read(1, std::string(11, '\xFF'))));
  EXPECT_TRUE(IsError(ReadTensor(TensorOf("w", 7, {1}))));
  EXPECT_EQ(ReadTensor(TensorOf("w", 7, {0})), "");
}

TEST(Onnx, ClaimsWithoutBytesAllocateNothing) {
  // 2^40 values in ten bytes: refused before a buffer is made.
  EXPECT_TRUE(IsError(ReadTensor(
      TensorOf("w", 7, {uint64_t{1} << 40}).Bytes(kInt64Data, "0123456789"))));
}

TEST(Onnx, ExternalDataWinsAndRawDataBeatsTypedValues) {
  EXPECT_EQ(
      ReadTensor(
          TensorOf("w", 2, {1}).Number(kInt32Data, 9).Bytes(kRawData, "r")),
      "r");
  EXPECT_TRUE(IsError(ReadTensor(
      TensorOf("w", 2, {1}).Bytes(kRawData, "r").Number(kDataLocation, 1))));
}

TEST(Onnx, Locations) {
  const auto below = [](std::string_view location) {
    return onnx::LocationBelow(location).value_or("(none)");
  };
  EXPECT_EQ(below("w.bin"), "w.bin");
  EXPECT_EQ(below("./sub//w.bin"), "sub/w.bin");
  EXPECT_EQ(below("sub/../other/./w"), "other/w");
  EXPECT_EQ(below("..w/x"), "..w/x");
  EXPECT_EQ(below("../w"), "(none)");
  EXPECT_EQ(below("sub/../../w"), "(none)");
  EXPECT_EQ(below("/etc/passwd"), "(none)");
  EXPECT_EQ(below(""), "(none)");
  EXPECT_EQ(below("."), "(none)");
  EXPECT_EQ(below(std::string_view("w\0.x", 4)), "(none)");
  EXPECT_EQ(below(std::string(5000, 'x')), "(none)");
}

TEST(Onnx, ExternalDataIsOpenedWhenItIsLookedAt) {
  const auto external = [](std::string_view name,
                           const std::vector<Wire>& entries) {
    Wire tensor = TensorOf(name, 2, {4}).Number(kDataLocation, 1);
    for (const Wire& entry : entries) tensor.Message(kExternalData, entry);
    return tensor;
  };
  Wire graph;
  graph.Message(5, external("all", {Entry("location", "four")}));
  graph.Message(
      5, external("part", {Entry("location", "d/ten"), Entry("offset", "3"),
                           Entry("length", "4"), Entry("x", "y")}));
  graph.Message(
      5, external("rest", {Entry("location", "d/ten"), Entry("offset", "6")}));
  graph.Message(
      5, external("long", {Entry("location", "d/ten"), Entry("offset", "5")}));
  graph.Message(
      5, external("past", {Entry("location", "d/ten"), Entry("offset", "7"),
                           Entry("length", "4")}));
  graph.Message(
      5, external("text", {Entry("location", "four"), Entry("offset", "0x0")}));
  graph.Message(5, external("gone", {Entry("location", "gone")}));
  const auto source = std::make_shared<ModelSource>(
      ModelOf(graph), std::map<std::string, std::string>{
                          {"four", "abcd"}, {"d/ten", "0123456789"}});
  const auto model = Open(source);
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(source->opened(), 0);
  EXPECT_EQ(Read(**model, 0), "abcd");
  EXPECT_EQ(Read(**model, 1), "3456");
  EXPECT_EQ(Read(**model, 2), "6789");
  for (uint32_t i = 3; i < 7; ++i) {
    EXPECT_TRUE(IsError(Read(**model, i))) << i;
    EXPECT_EQ(*(*model)->Entries()->Size(i, LoneContext()), 0U);
    EXPECT_NE(DescribeEntry(**model, i).note, "");
  }
  const Json info = (*model)->Info(LoneContext());
  EXPECT_NE(info["warnings"].dump().find("external: 4 tensors"),
            std::string::npos);
  EXPECT_EQ(ArraysOf(**model).size(), 3U);
}

TEST(Onnx, AloneNothingBesideTheModelIsOpened) {
  const auto source = std::make_shared<ModelSource>(
      ModelWith(TensorOf("w", 2, {4})
                    .Number(kDataLocation, 1)
                    .Message(kExternalData, Entry("location", "four"))),
      std::map<std::string, std::string>{{"four", "abcd"}});
  OpenOptions alone;
  alone.alone = true;
  const auto model = Open(source, alone);
  ASSERT_TRUE(Ok(model));
  EXPECT_TRUE(IsError(Read(**model)));
  EXPECT_EQ(source->opened(), 0);
}

TEST(Onnx, StringsAreLinesOfJson) {
  EXPECT_EQ(ReadTensor(TensorOf("w", 8, {3})
                           .Bytes(kStringData, "a\"\n")
                           .Bytes(kStringData, "")
                           .Bytes(kStringData, "\xFF")),
            "\"a\\\"\\n\"\n\"\"\n\"\xEF\xBF\xBD\"\n");
  EXPECT_TRUE(
      IsError(ReadTensor(TensorOf("w", 8, {2}).Bytes(kStringData, "a"))));
}

TEST(Onnx, IntegersOfLessThanAByteAreWidenedInViews) {
  const auto values = [](uint64_t type, std::string_view raw, uint64_t n) {
    const auto model =
        Open(ModelWith(TensorOf("w", type, {n}).Bytes(kRawData, raw)));
    const std::vector<ArrayInfo> arrays = ArraysOf(**model);
    EXPECT_EQ(arrays.size(), 1U);
    EXPECT_TRUE(arrays[0].widened);
    const Result<Content> content = arrays[0].open(LoneContext());
    // From the middle of a byte on.
    Buffer bytes(static_cast<size_t>(n - 1));
    EXPECT_TRUE(Ok(ReadInto(*content, 1, bytes.span(), LoneContext())));
    return std::string(AsText(bytes.span()));
  };
  EXPECT_EQ(values(22, "\x8F\x17", 3), std::string("\xF8\x07", 2));
  EXPECT_EQ(values(21, "\x8F\x17", 3), std::string("\x08\x07", 2));
  EXPECT_EQ(values(26, "\x1B", 4), std::string("\xFE\x01\x00", 3));
  EXPECT_EQ(values(25, "\x1B", 4), std::string("\x02\x01\x00", 3));
}

TEST(Onnx, TensorsOfSubgraphsFollowThoseOfTheirGraph) {
  const Wire inner = Wire().Message(5, TensorOf("w", 2, {0}));
  const Wire node = Wire().Bytes(4, "If").Message(
      5, Wire().Bytes(1, "then").Message(6, inner));
  const Wire many = Wire().Bytes(3, "n").Bytes(4, "X").Bytes(7, "d").Message(
      5, Wire().Message(11, inner).Message(11, inner).Bytes(1, "g"));
  const auto model =
      Open(ModelOf(Wire().Message(1, node).Message(1, many).Message(
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
  EXPECT_TRUE(Ok(Open(ModelOf(graph))));
  graph = Wire().Message(1, Wire().Message(5, Wire().Message(6, graph)));
  EXPECT_TRUE(Fails(Open(ModelOf(graph)), Code::kLimit));
  // Types of inputs have their own way of nesting.
  Wire type;
  for (int depth = 0; depth < 60; ++depth) {
    type = Wire().Message(4, Wire().Message(1, type));
  }
  const Wire input = Wire().Message(2, type);
  EXPECT_TRUE(Fails(Open(ModelOf(Wire().Message(11, input))), Code::kLimit));
}

TEST(Onnx, LargeNumbersAreStringsInModelJson) {
  const auto model = Open(Wire()
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
  std::string text(onnx::kMostDocString - 1, 'x');
  text += "\xC3\xA9tail";
  const auto model =
      Open(Wire().Number(1, 10).Bytes(6, text).Bytes(7, "").bytes());
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(DocumentOf(**model)["doc_string"],
            std::string(onnx::kMostDocString - 1, 'x'));
}

TEST(Onnx, AModelJsonThatIsTooLargeIsLeftOut) {
  Wire graph;
  const Wire input = Wire().Bytes(1, std::string(1 << 20, 'i'));
  for (int i = 0; i < 65; ++i) graph.Message(11, input);
  graph.Message(5, TensorOf("w", 2, {1}).Bytes(kRawData, "r"));
  const auto model = Open(ModelOf(graph));
  ASSERT_TRUE(Ok(model));
  EXPECT_FALSE(FindFile(**model, "model.json"));
  EXPECT_EQ(Read(**model), "r");
  EXPECT_NE((*model)->Info(LoneContext())["warnings"].dump().find(
                "value_too_large: "),
            std::string::npos);
}

TEST(Onnx, SalvageShowsTheTensorsBeforeAFault) {
  const std::string bytes =
      ModelOf(Wire()
                  .Message(5, TensorOf("w", 2, {1}).Bytes(kRawData, "r"))
                  .Message(5, Wire().Tag(50, 3)));
  EXPECT_TRUE(Fails(Open(bytes), Code::kCorrupt));
  const auto model = Open(bytes, /*salvage=*/true);
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(Names(**model), std::vector<std::string>{"w"});
  EXPECT_EQ(Read(**model), "r");
  EXPECT_EQ((*model)->Inspect(LoneContext()).size(), 1U);
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
}  // namespace ctxfs
