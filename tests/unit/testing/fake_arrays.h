// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/testing/fake_container.h"

namespace ctxfs {

inline ArrayInfo Array(std::string name, DType dtype,
                       std::vector<uint64_t> shape, std::string bytes) {
  return {std::move(name), dtype, std::move(shape),
          [bytes = std::move(bytes)](const ReadContext& /*context*/)
              -> Result<Content> { return TextContent(bytes); }};
}

/// An array that cannot be opened.
inline ArrayInfo BrokenArray(std::string name, DType dtype,
                             std::vector<uint64_t> shape) {
  return {std::move(name), dtype, std::move(shape),
          [](const ReadContext& /*context*/) -> Result<Content> {
            return Error{Code::kCorrupt, "broken", 7};
          }};
}

/// A container with arrays; counts how often it is asked for them.
class FakeArrays final : public FakeContainer {
 public:
  FakeArrays(std::vector<ArrayInfo> arrays, std::optional<ArraysUse> use)
      : FakeContainer({}), arrays_(std::move(arrays)), use_(use) {}

  std::vector<ArrayInfo> Arrays(const ReadContext& /*context*/) const override {
    ++asked;
    return arrays_;
  }
  std::optional<ArraysUse> ArraysUsed() const override { return use_; }
  Json Metadata() const override { return metadata; }

  Json metadata;
  mutable int asked = 0;

 private:
  std::vector<ArrayInfo> arrays_;
  std::optional<ArraysUse> use_;
};

}  // namespace ctxfs
