// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cowrie/gen1.h"

#include <fmt/core.h>

#include <bit>
#include <string_view>
#include <utility>

#include "core/formats/cowrie/cowrie.h"
#include "core/formats/cowrie/text.h"

namespace ctxfs::cowrie {
namespace {

constexpr uint8_t kObjectTag = 0x07;
constexpr uint8_t kGraphTag = 0x39;

}  // namespace

Result<CowrieValue> ReadCowrieGraph1(Bytes bytes, bool numbers,
                                     const Interrupt& interrupt) {
  CowrieArrays arrays;
  Json json = CTXFS_TRY(CowrieGen1(bytes, numbers, arrays, interrupt).Decode());
  CowrieValue value;
  value.json = std::move(json);
  value.left_out = arrays.left_out();
  value.arrays = std::move(arrays).Take();
  return value;
}

Result<Json> CowrieGen1::Decode() {
  if (U8() != kGraphTag) Fail("it is not a graph of generation 1");
  return Finish(Graph());
}

Json CowrieGen1::Tagged(uint8_t tag) {
  if (std::optional<Json> scalar = Scalar(tag)) return *std::move(scalar);
  switch (tag) {
    case 0x06:
      return Array(Count(1));
    case kObjectTag:
      return Object();
    case 0x09:
      return Plain(DType::kI64);
    case 0x0A:
      return Plain(DType::kF64);
    case 0x0B:
      return Strings();
    case 0x0C:
      return Plain(DType::kF32);
    case 0x0D:
      return static_cast<double>(std::bit_cast<float>(U32()));
    case 0x30:
      return AdjacencyList();
    case 0x35:
      return Node();
    case 0x36:
      return Edge();
    case 0x37:
      return {{"nodes", Nodes()}};
    case 0x38:
      return EdgeBatch();
    case kGraphTag:
      return Graph();
    default:
      Fail(fmt::format("tag {} is unknown", tag));
      return nullptr;
  }
}

Json CowrieGen1::Array(uint64_t count) {
  const CowrieArrays::Below below(arrays_);
  return List(count, 0, [this] { return Value(); });
}

Json CowrieGen1::Object() {
  Json object = Json::object();
  for (uint64_t count = Count(2); count > 0 && ok(); --count) {
    const std::string_view name = View();
    const CowrieArrays::Below below(arrays_, name);
    Json value = Value();
    // Of equal names the last wins, as in the reference.
    if (ChargeText(name.size())) object[std::string(name)] = std::move(value);
  }
  return object;
}

Json CowrieGen1::TaggedObject() {
  if (U8() != kObjectTag) Fail("metadata or properties are not an object");
  return Object();
}

Json CowrieGen1::Elements(DType dtype, uint64_t count) {
  if (numbers_) return List(count, 1, [&] { return Element(dtype); });
  Skip(count * DTypeSize(dtype));
  return Json::array();
}

Json CowrieGen1::Element(DType dtype) {
  switch (dtype) {
    case DType::kI64:
      return SignedJson(static_cast<int64_t>(U64()));
    case DType::kF64:
      return std::bit_cast<double>(U64());
    default:
      return static_cast<double>(std::bit_cast<float>(U32()));
  }
}

Json CowrieGen1::Plain(DType dtype) {
  const uint64_t count = Count(DTypeSize(dtype));
  arrays_.Add({.name = "values",
               .dtype = dtype,
               .shape = {count},
               .offset = offset(),
               .length = count * DTypeSize(dtype)},
              /*alone=*/true);
  return Elements(dtype, count);
}

}  // namespace ctxfs::cowrie
