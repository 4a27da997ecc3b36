// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/content/block.h"

namespace ctxfs {

inline Buffer BufferOf(std::string_view bytes) {
  Buffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

/// A block whose bytes come from a function.
class TestBlock final : public Block {
 public:
  TestBlock(Key key, uint64_t cost, std::function<Result<Buffer>()> produce,
            bool verifies = false)
      : Block(key),
        cost_(cost),
        produce_(std::move(produce)),
        verifies_(verifies) {}

  uint64_t cost() const override { return cost_; }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    return produce_();
  }
  bool verifies() const override { return verifies_; }

 private:
  uint64_t cost_;
  std::function<Result<Buffer>()> produce_;
  bool verifies_;
};

}  // namespace ctxfs
