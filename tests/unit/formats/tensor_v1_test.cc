// SPDX-License-Identifier: Apache-2.0
#include "core/formats/model_shard/tensor_v1.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ctxfs::model_shard {
namespace {

std::string Payload(uint8_t code, const std::vector<uint64_t>& dimensions,
                    size_t data) {
  std::string bytes = {static_cast<char>(code),
                       static_cast<char>(dimensions.size()), '\x07', '\x08'};
  for (const uint64_t dimension : dimensions) {
    for (unsigned i = 0; i < 8; ++i) {
      bytes += static_cast<char>(dimension >> (8 * i));
    }
  }
  return bytes + std::string(data, 'x');
}

Result<TensorHeader> Parse(const std::string& bytes, bool exact = false) {
  return ParseTensorV1(AsBytes(bytes), bytes.size(), exact, 64);
}

TEST(TensorV1, ReadsWhatFits) {
  const Result<TensorHeader> tensor = Parse(Payload(1, {2, 3}, 24), true);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->type_name, "f32");
  EXPECT_EQ(tensor->shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(tensor->header_size, 20U);
  EXPECT_EQ(tensor->data_size, 24U);
  EXPECT_EQ(tensor->elements(), 6U);
}

TEST(TensorV1, AScalarIsOneElement) {
  const Result<TensorHeader> tensor = Parse(Payload(12, {}, 8), true);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->data_size, 8U);
  EXPECT_TRUE(tensor->shape.empty());
}

TEST(TensorV1, MoreBytesAreAllowedUnlessExact) {
  const std::string bytes = Payload(1, {1}, 5);
  ASSERT_TRUE(Parse(bytes));
  EXPECT_EQ(Parse(bytes)->data_size, 4U);
  EXPECT_FALSE(Parse(bytes, true));
}

TEST(TensorV1, Float64OfTheOldTableIsRecognisedByItsLength) {
  EXPECT_EQ(Parse(Payload(3, {3}, 6))->type_name, "bf16");
  EXPECT_EQ(Parse(Payload(3, {3}, 24), true)->type_name, "f64");
  EXPECT_EQ(Parse(Payload(3, {3}, 23))->type_name, "bf16");
  EXPECT_EQ(Parse(Payload(3, {0}, 0), true)->type_name, "bf16");
}

TEST(TensorV1, PackedTypesAreBytes) {
  const Result<TensorHeader> tensor = Parse(Payload(0x10, {5}, 5), true);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->type_name, "qint4");
  EXPECT_EQ(tensor->dtype, DType::kU8);
  EXPECT_FALSE(tensor->note.empty());
}

TEST(TensorV1, ProductsOverflowFromTheLeft) {
  constexpr uint64_t kMax = INT64_MAX;
  EXPECT_TRUE(Parse(Payload(1, {0, kMax}, 0)));
  EXPECT_TRUE(Parse(Payload(8, {kMax, 0}, 0)));
  EXPECT_FALSE(Parse(Payload(8, {kMax, 2, 0}, 0)));
  EXPECT_FALSE(Parse(Payload(8, {0, kMax + 1}, 0)));
  EXPECT_FALSE(Parse(Payload(1, {kMax}, 0)));
}

TEST(TensorV1, RefusesWithTheEntrysOffset) {
  for (const std::string& bytes :
       {std::string(), std::string(3, '\1'), Payload(0, {}, 8),
        Payload(13, {}, 8), Payload(255, {}, 8), Payload(1, {2}, 7),
        Payload(1, {2, 2}, 0).substr(0, 19)}) {
    const Result<TensorHeader> tensor = Parse(bytes);
    ASSERT_FALSE(tensor);
    EXPECT_EQ(tensor.error().code, Code::kCorrupt);
    EXPECT_EQ(tensor.error().offset, 64U);
  }
}

}  // namespace
}  // namespace ctxfs::model_shard
