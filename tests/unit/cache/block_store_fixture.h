// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/cache/block_store.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {

class BlockStoreTest : public testing::Test {
 protected:
  static constexpr uint64_t kBlock = BlockStore::kBlockBytes;

  std::unique_ptr<BlockStore> Open(uint64_t most = 1 << 30) const {
    return *BlockStore::Open(dir_.Path("cache"), most);
  }
  static std::string Block(char c, size_t size = kBlock) {
    return std::string(size, c);
  }
  /// The block; empty if the store does not have it.
  static std::string Read(BlockStore& store, const std::string& key,
                          uint64_t number, size_t size = kBlock) {
    std::string text(size, '\0');
    const MutableBytes out = std::as_writable_bytes(std::span(text));
    return store.Read(key, number, {&out, 1}) == 1 ? text : "";
  }
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& one :
         std::filesystem::recursive_directory_iterator(dir_.Path("cache"))) {
      const bool block = one.path().filename() != "lock";
      if (one.is_regular_file() && block) files.push_back(one.path());
    }
    return files;
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const auto& file : Files()) bytes += std::filesystem::file_size(file);
    return bytes;
  }

  TempDir dir_;
};

}  // namespace ctxfs
