// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cowrie/gen1.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ctxfs::cowrie {
namespace {

constexpr uint8_t kObjectTag = 0x07;

/// Whether a text has control characters, which names and words do not have.
bool HasControls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
  });
}

}  // namespace

Json CowrieGen1::Tagged(uint8_t tag) {
  if (std::optional<Json> scalar = Scalar(tag)) return *std::move(scalar);
  switch (tag) {
    case 0x06:
      return Array(Count(1));
    case kObjectTag:
      return Object();
    case 0x30:
    case 0x35:
    case 0x36:
    case 0x37:
    case 0x38:
    case 0x39:
      met_graphs_ = true;
      return dialect_.graphs == Gen1Graphs::kGo ? GoGraph(tag) : SpecGraph(tag);
    default:
      met_tags_ = true;
      return dialect_.tags == Gen1Tags::kUnified ? UnifiedTag(tag)
                                                 : EarlierTag(tag);
  }
}

Json CowrieGen1::UnifiedTag(uint8_t tag) {
  if (std::optional<Json> scalar = UnifiedScalar(tag)) {
    return *std::move(scalar);
  }
  switch (tag) {
    case 0x16:
      return Plain(DType::kI64);
    case 0x17:
      return Plain(DType::kF64);
    case 0x18:
      return Plain(DType::kF32);
    case 0x19:
      return TextList();
    default:
      return Unknown(tag);
  }
}

Json CowrieGen1::EarlierTag(uint8_t tag) {
  switch (tag) {
    case 0x09:
      return Plain(DType::kI64);
    case 0x0A:
      return Plain(DType::kF64);
    case 0x0B:
      return TextList();
    case 0x0C:
      return Plain(DType::kF32);
    case 0x0D:
      return F32();
    default:
      return Unknown(tag);
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
    // Of members with equal names, the last one counts, as in the reference.
    if (ChargeText(name.size())) object[std::string(name)] = std::move(value);
  }
  return object;
}

Json CowrieGen1::TaggedObject() {
  if (U8() != kObjectTag) Fail("metadata or properties are not an object");
  return Object();
}

Json CowrieGen1::TextList() {
  return List(Count(1), 1, [this] {
    std::string text = Text();
    CountOdd(HasControls(text));
    return text;
  });
}

Json CowrieGen1::Elements(DType dtype, uint64_t count) {
  if (numbers_) return List(count, 1, [&] { return Element(dtype); });
  if (dtype == DType::kI64) {
    Skip(count * DTypeSize(dtype));
    return Json::array();
  }
  // Reads each number, because reading counts the rare values (odd_values).
  for (; count > 0 && Worked(1); --count) Element(dtype);
  return Json::array();
}

Json CowrieGen1::Element(DType dtype) {
  if (dtype == DType::kI64) return SignedJson(static_cast<int64_t>(U64()));
  return dtype == DType::kF64 ? F64() : F32();
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
