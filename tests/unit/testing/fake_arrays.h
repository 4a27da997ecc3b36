// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
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

/// An array of one dimension.
template <typename T>
ArrayInfo ArrayOf(DType dtype, const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Array("a", dtype, {values.size()}, bytes);
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
  /// `others`: exports besides `arrays`.
  FakeArrays(std::vector<ArrayInfo> arrays, Exports others)
      : FakeContainer({}), exports(std::move(others)) {
    exports.arrays =
        [this, arrays = std::move(arrays)](const ReadContext& /*context*/) {
          ++asked;
          return arrays;
        };
  }

  Exports Export() const override { return exports; }
  Json Metadata(const Request& /*request*/) const override { return metadata; }

  Exports exports;
  Json metadata;
  mutable int asked = 0;
};

}  // namespace ctxfs
