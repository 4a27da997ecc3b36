// SPDX-License-Identifier: Apache-2.0
//
// The elements of ONNX's tensors (docs/formats/onnx.md): in the model and in
// files beside it.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/formats/onnx/external.h"
#include "core/formats/onnx/types.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/onnx_builder.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::onnx {
namespace {

Wire Entry(std::string_view key, std::string_view value) {
  return Wire().Bytes(1, key).Bytes(2, value);
}

/// A model with files beside it.
class ModelSource final : public Source {
 public:
  ModelSource(std::string bytes, std::map<std::string, std::string> files)
      : bytes_(std::move(bytes)), files_(std::move(files)) {}

  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    return bytes_.ReadAt(offset, out, request);
  }
  Result<std::shared_ptr<const Source>> OpenSibling(
      const std::string& path, const Request& /*request*/) const override {
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

std::string ReadTensor(const Wire& tensor) {
  const auto model = OpenOnnx(ModelWith(tensor));
  if (!model) return "refused: " + model.error().Text();
  return ReadOnnx(**model);
}

bool IsError(const std::string& text) { return text.starts_with("error: "); }

TEST(Onnx, RawDataIsARangeOfTheModel) {
  const std::string bytes("\1\2\3\4\5\6", 6);
  auto source = std::make_shared<FaultySource>(
      ModelWith(TensorOf("w", 5, {3}).Bytes(kRawData, bytes)));
  const auto model = OpenOnnx(source);
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(ReadOnnx(**model), bytes);
  const EntryInfo info = DescribeEntry(**model, 0);
  EXPECT_EQ(info.dtype, "i16");
  EXPECT_EQ(info.shape, (std::vector<uint64_t>{3}));
  EXPECT_EQ(info.size, 6U);
  EXPECT_EQ(info.verified, "none");
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
      5, external("most", {Entry("location", "d/ten"), Entry("offset", "7")}));
  graph.Message(
      5, external("past", {Entry("location", "d/ten"), Entry("offset", "7"),
                           Entry("length", "4")}));
  graph.Message(
      5, external("text", {Entry("location", "four"), Entry("offset", "0x0")}));
  graph.Message(5, external("gone", {Entry("location", "gone")}));
  const auto source = std::make_shared<ModelSource>(
      ModelOf(graph), std::map<std::string, std::string>{
                          {"four", "abcd"}, {"d/ten", "0123456789"}});
  const auto model = OpenOnnx(source);
  ASSERT_TRUE(Ok(model));
  EXPECT_EQ(source->opened(), 0);
  EXPECT_EQ(ReadOnnx(**model, 0), "abcd");
  EXPECT_EQ(ReadOnnx(**model, 1), "3456");
  EXPECT_EQ(ReadOnnx(**model, 2), "6789");
  for (uint32_t i = 3; i < 7; ++i) {
    EXPECT_TRUE(IsError(ReadOnnx(**model, i))) << i;
    EXPECT_EQ(*(*model)->Entries()->Size(i, LoneContext()), 0U);
    EXPECT_NE(DescribeEntry(**model, i).note, "");
  }
  const Json info = (*model)->Info(LoneContext());
  EXPECT_NE(info["warnings"].dump().find("external: 4 tensors"),
            std::string::npos);
  EXPECT_EQ(ArraysOf(**model).size(), 3U);
}

TEST(Onnx, Item41_9_ExternalDataWithoutALengthTakesTheBytesOfTheShape) {
  const auto model_at = [](const char* offset) {
    const auto source = std::make_shared<ModelSource>(
        ModelWith(TensorOf("w", 2, {4})
                      .Number(kDataLocation, 1)
                      .Message(kExternalData, Entry("location", "ten"))
                      .Message(kExternalData, Entry("offset", offset))),
        std::map<std::string, std::string>{{"ten", "0123456789"}});
    const auto model = OpenOnnx(source);
    EXPECT_TRUE(Ok(model));
    return *model;
  };
  EXPECT_EQ(ReadOnnx(*model_at("0"), 0), "0123");
  EXPECT_EQ(ReadOnnx(*model_at("5"), 0), "5678");
  EXPECT_EQ(ReadOnnx(*model_at("6"), 0), "6789");
  const auto past = model_at("7");
  EXPECT_TRUE(IsError(ReadOnnx(*past, 0)));
  EXPECT_NE(DescribeEntry(*past, 0).note.find(
                "'ten' has 10 bytes, but its type and shape need 4 from byte 7 "
                "on"),
            std::string::npos);
}

TEST(Onnx, AloneNothingBesideTheModelIsOpened) {
  const auto source = std::make_shared<ModelSource>(
      ModelWith(TensorOf("w", 2, {4})
                    .Number(kDataLocation, 1)
                    .Message(kExternalData, Entry("location", "four"))),
      std::map<std::string, std::string>{{"four", "abcd"}});
  OpenOptions alone;
  alone.alone = true;
  const auto model = OpenOnnx(source, alone);
  ASSERT_TRUE(Ok(model));
  EXPECT_TRUE(IsError(ReadOnnx(**model)));
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
        OpenOnnx(ModelWith(TensorOf("w", type, {n}).Bytes(kRawData, raw)));
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

}  // namespace
}  // namespace ctxfs::onnx
