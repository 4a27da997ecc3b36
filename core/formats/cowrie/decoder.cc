// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cowrie/decoder.h"

#include <fmt/core.h>

#include <string>

#include "core/formats/cowrie/limits.h"

namespace ctxfs::cowrie {

Result<Json> CowrieDecoder::Decode(bool hints) {
  if (hints) SkipHints();
  ReadDictionary();
  return Finish(Value());
}

void CowrieDecoder::SkipHints() {
  for (uint64_t n = Count(4); n > 0 && ok(); --n) {
    Data();
    Skip(1);
    for (uint64_t rank = Count(1); rank > 0 && ok(); --rank) Uvarint();
    Skip(1);
  }
}

void CowrieDecoder::ReadDictionary() {
  const uint64_t count = Count(1);
  if (count > kMaxNames) {
    Fail(fmt::format("a dictionary of {} names is over the limit of {}", count,
                     kMaxNames),
         Code::kLimit);
    return;
  }
  if (!Admitted(HeapAllowance::Admit(count * sizeof(std::string_view)))) return;
  names_.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count && ok(); ++i) names_.push_back(View());
}

std::string_view CowrieDecoder::Name() {
  const uint64_t index = Uvarint();
  if (ok() && index >= names_.size()) {
    Fail(fmt::format("there is no name {} in a dictionary of {}", index,
                     names_.size()));
  }
  if (!ok()) return {};
  const std::string_view name = names_[static_cast<size_t>(index)];
  return ChargeText(name.size()) ? name : std::string_view();
}

Json CowrieDecoder::Tagged(uint8_t tag) {
  if (tag >= 0x40 && tag <= 0xBF) return tag - 0x40;
  if (tag >= 0xC0 && tag <= 0xCF) return Array(tag - 0xC0U);
  if (tag >= 0xD0 && tag <= 0xDF) return Object(tag - 0xD0U);
  if (tag >= 0xE0 && tag <= 0xEF) return -1 - (tag - 0xE0);
  return tag < 0x20 ? Basic(tag) : Typed(tag);
}

Json CowrieDecoder::Basic(uint8_t tag) {
  if (std::optional<Json> scalar = Scalar(tag)) return *std::move(scalar);
  if (std::optional<Json> scalar = UnifiedScalar(tag)) {
    return *std::move(scalar);
  }
  switch (tag) {
    case 0x06:
      return Array(Count(1));
    case 0x07:
      return Object(Count(2));
    default:
      return Unknown(tag);
  }
}

Json CowrieDecoder::Array(uint64_t count) {
  const CowrieArrays::Below below(arrays_);
  return List(count, 0, [this] { return Value(); });
}

Json CowrieDecoder::Object(uint64_t count) {
  Json object = Json::object();
  for (; count > 0 && ok(); --count) {
    const std::string_view name = Name();
    const CowrieArrays::Below below(arrays_, name);
    Json value = Value();
    // Of members with equal names, the last one counts, as in the reference.
    if (ok()) object[std::string(name)] = std::move(value);
  }
  return object;
}

}  // namespace ctxfs::cowrie
