// SPDX-License-Identifier: Apache-2.0
//
// TensorV1, the payload of a tensor (docs/formats/model_shard.md, section 2).
//
//   0           u8   dtype code
//   1           u8   number of dimensions
//   2           u16  flags, without meaning
//   4           u64  each dimension, outermost first
//   4 + 8*ndim       the elements, row-major
#include "core/formats/model_shard/tensor_v1.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/base/rank.h"

namespace ctxfs::model_shard {
namespace {

constexpr uint64_t kMaxElements = INT64_MAX;  // as in the reference reader

struct TypeCode {
  uint8_t code;
  DType dtype;
  std::string_view name;  // empty: the dtype's own
};

// Codes from 0x10 on are shown as bytes: no document defines their packing.
constexpr TypeCode kTypes[] = {
    {0x01, DType::kF32, {}},      {0x02, DType::kF16, {}},
    {0x03, DType::kBf16, {}},     {0x04, DType::kI8, {}},
    {0x05, DType::kI16, {}},      {0x06, DType::kI32, {}},
    {0x07, DType::kI64, {}},      {0x08, DType::kU8, {}},
    {0x09, DType::kU16, {}},      {0x0A, DType::kU32, {}},
    {0x0B, DType::kU64, {}},      {0x0C, DType::kF64, {}},
    {0x10, DType::kU8, "qint4"},  {0x11, DType::kU8, "qint2"},
    {0x12, DType::kU8, "qint3"},  {0x13, DType::kU8, "ternary"},
    {0x14, DType::kU8, "binary"},
};
constexpr uint8_t kBf16OrOldF64 = 0x03;
constexpr uint8_t kU16OrOldBf16 = 0x09;

}  // namespace

Result<TensorHeader> ParseTensorV1(Bytes head, uint64_t payload_size,
                                   bool exact, uint64_t offset) {
  const auto no_tensor = [&](std::string why) {
    return Error{Code::kCorrupt, "not a tensor: " + std::move(why), offset};
  };
  ByteReader in(head);
  TensorHeader tensor;
  tensor.code = in.U8();
  const uint8_t dimensions = in.U8();
  in.Skip(2);
  if (!in.ok()) return no_tensor("too short for a header");
  if (dimensions > limits::kArrayRank) {
    return no_tensor(
        fmt::format("more than {} dimensions", limits::kArrayRank));
  }
  const auto type = std::ranges::find(kTypes, tensor.code, &TypeCode::code);
  if (type == std::end(kTypes)) {
    return no_tensor(fmt::format("unknown dtype {}", tensor.code));
  }
  tensor.header_size = TensorHeader::kFixedBytes + uint64_t{8} * dimensions;
  if (in.remaining() < uint64_t{8} * dimensions) {
    return no_tensor(fmt::format("too short for {} dimensions", dimensions));
  }
  uint64_t elements = 1;
  for (unsigned i = 0; i < dimensions; ++i) {
    const uint64_t dimension = in.U64();
    const auto product = CheckedMul(elements, dimension);
    if (dimension > kMaxElements || !product || *product > kMaxElements) {
      return no_tensor("the product of its dimensions overflows");
    }
    elements = *product;
    tensor.shape.push_back(dimension);
  }

  tensor.dtype = type->dtype;
  const uint64_t there = payload_size - tensor.header_size;
  // Old writers stored float64 as 0x03, recognised by four times the bytes of
  // bfloat16. They also stored bfloat16 as 0x09, which cannot be distinguished
  // from uint16.
  if (tensor.code == kBf16OrOldF64 && elements > 0 &&
      CheckedMul(elements, DTypeSize(DType::kF64)) == there) {
    tensor.dtype = DType::kF64;
    tensor.note = "float64 by the old dtype table, because of its length";
  }
  if (tensor.code == kU16OrOldBf16) {
    tensor.note = "uint16, or bfloat16 if the writer used the old dtype table";
  }
  tensor.type_name = type->name.empty() ? DTypeName(tensor.dtype) : type->name;
  if (!type->name.empty()) {
    tensor.note = "packed in a way that the format does not define: bytes";
  }
  const auto bytes = CheckedMul(elements, DTypeSize(tensor.dtype));
  if (!bytes || *bytes > kMaxElements) {
    return no_tensor("the product of its dimensions overflows");
  }
  if (*bytes > there || (exact && *bytes != there)) {
    return no_tensor(fmt::format(
        "its dimensions require {} bytes, but it has {}", *bytes, there));
  }
  tensor.data_size = *bytes;
  return tensor;
}

}  // namespace ctxfs::model_shard
