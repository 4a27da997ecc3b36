// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/wire_builder.h"

namespace ctxfs {

extern const Format kOnnx;

// Numbers of fields (docs/formats/onnx.md, section 3).
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

inline Wire TensorOf(std::string_view name, uint64_t type,
                     const std::vector<uint64_t>& dims) {
  Wire tensor;
  for (const uint64_t dim : dims) tensor.Number(kDims, dim);
  return tensor.Number(kDataType, type).Bytes(kName, name);
}

inline std::string ModelOf(const Wire& graph) {
  return Wire().Number(1, 10).Message(7, graph).bytes();
}

inline std::string ModelWith(const Wire& tensor) {
  return ModelOf(Wire().Message(5, tensor));
}

inline Result<std::shared_ptr<const Container>> OpenOnnx(
    std::shared_ptr<const Source> source, const OpenOptions& options = {}) {
  return kOnnx.open(std::move(source), options, LoneContext());
}

inline Result<std::shared_ptr<const Container>> OpenOnnx(std::string bytes,
                                                         bool salvage = false) {
  OpenOptions options;
  options.salvage = salvage;
  return OpenOnnx(std::make_shared<MemorySource>(std::move(bytes)), options);
}

/// The bytes of tensor `number`, or "error: " and why there are none.
inline std::string ReadOnnx(const Container& model, uint32_t number = 0) {
  BlockCache cache(1 << 24);
  const Result<Content> content = model.Entries()->Open(number, cache);
  if (!content) return "error: " + content.error().what;
  EXPECT_EQ(content->size(), *model.Entries()->Size(number, LoneContext()));
  const Result<std::string> bytes = ReadAll(*content, cache);
  return bytes ? *bytes : "error: " + bytes.error().what;
}

}  // namespace ctxfs
