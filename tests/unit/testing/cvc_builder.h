// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/container/format.h"
#include "core/io/source.h"
#include "tests/unit/testing/files.h"

namespace ctxfs::cvc {

using ContainerPtr = std::shared_ptr<const Container>;

inline std::string U32(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
inline std::string Old(const std::string& json) {
  return "CVCF" + U32(static_cast<uint32_t>(json.size())) + json;
}
inline std::string New(const std::string& json, uint32_t version = 1) {
  return "CVCF" + U32(version) + U32(static_cast<uint32_t>(json.size())) + json;
}
inline std::string OldChunk(const std::string& payload) {
  return U32(static_cast<uint32_t>(payload.size())) + payload;
}
inline std::string Chunk(const std::string& payload) {
  return U32(static_cast<uint32_t>(payload.size())) +
         U32(Crc32(AsBytes(payload))) + payload;
}
inline std::string Floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

inline Result<ContainerPtr> Open(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)), {});
}

inline std::string Read(const ContainerPtr& container, uint32_t column = 0) {
  BlockCache cache(limits::kMiB);
  const Result<Content> content = OpenEntry(*container, column);
  if (!content) return "error: " + content.error().Text();
  const Result<std::string> bytes = ReadAll(*content, cache);
  return bytes ? *bytes : "error: " + bytes.error().Text();
}

inline const std::string kHalves("\x00\x3C\x00\xC0\x01\x7C\x01\x00", 8);
inline const std::string kDecoded(
    "\x00\x00\x80\x3F\x00\x00\x00\xC0"
    "\x00\x20\x80\x7F\x00\x00\x80\x33",
    16);

inline std::string Single(const std::string& more,
                          const std::string& codec = "fp16", int rows = 2,
                          int dimension = 2) {
  return R"({"num_vectors":)" + std::to_string(rows) + R"(,"dimension":)" +
         std::to_string(dimension) + R"(,"compression":")" + codec + "\"," +
         more + "}";
}

}  // namespace ctxfs::cvc
