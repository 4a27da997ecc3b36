// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tree/container_tree.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {

// Types of elements (docs/formats/model_shard.md).
constexpr uint8_t kF32 = 1;
constexpr uint8_t kI8 = 4;
constexpr uint8_t kI64 = 7;
constexpr uint8_t kQint4 = 0x10;

inline std::string Tensor(uint8_t code, std::initializer_list<uint64_t> shape,
                          const std::string& data) {
  std::string bytes(4 + 8 * shape.size(), '\0');
  bytes[0] = static_cast<char>(code);
  bytes[1] = static_cast<char>(shape.size());
  size_t at = 4;
  for (const uint64_t dimension : shape) {
    Poke(bytes, at, dimension);
    at += 8;
  }
  return bytes + data;
}

inline std::string Floats(size_t count) { return std::string(4 * count, '\0'); }

inline Result<std::shared_ptr<const Container>> OpenSpec(
    const ShardSpec& spec, OpenOptions options = {}) {
  return OpenContainer(std::make_shared<MemorySource>(BuildShard(spec)),
                       options);
}

/// Entries, and `metadata` as entry_metadata[NAME].extra.ctxfs.
inline std::shared_ptr<const Container> Model(std::vector<ShardEntry> entries,
                                              const Json& said = Json::object(),
                                              uint8_t role = 1,
                                              OpenOptions options = {}) {
  Json metadata;
  for (const auto& [name, object] : said.items()) {
    metadata["entry_metadata"][name]["extra"]["ctxfs"] = object;
  }
  const auto opened = OpenSpec({.entries = std::move(entries),
                                .role = role,
                                .metadata = metadata.dump()},
                               std::move(options));
  EXPECT_TRUE(Ok(opened));
  return *opened;
}

inline Json Seal() {
  return {{"scheme", "aes-256-gcm"},
          {"kdf", "hkdf-sha256"},
          {"salt", "AAAAAAAAAAAAAAAAAAAAAA=="},
          {"inner_codec", "none"}};
}

inline size_t WarningsAbout(const Container& container,
                            const std::string& what) {
  size_t count = 0;
  const Json info = container.Info(LoneContext());
  for (const Json& warning : info["warnings"]) {
    count += warning.get<std::string>().find(what) != std::string::npos;
  }
  return count;
}

/// The paths of files that are there.
inline std::vector<std::string> Paths(
    const std::shared_ptr<const Container>& from, std::string_view directory) {
  const ContainerTree container_tree(from);
  BlockCache cache(1 << 20);
  std::vector<std::string> paths;
  for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
    const std::string path = container_tree.tree().Path(node);
    if (container_tree.tree().IsDirectory(node) ||
        !path.starts_with(directory)) {
      continue;
    }
    const Result<bool> exists =
        container_tree.Exists(node, Cost::kDecode, cache);
    EXPECT_TRUE(Ok(exists));
    if (exists && *exists) paths.push_back(path.substr(directory.size()));
  }
  return paths;
}

}  // namespace ctxfs
