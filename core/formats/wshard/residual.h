// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/content/content.h"

namespace ctxfs::wshard {

/// Returns SIGNAL of "residual/SIGNAL/sign2nddiff", or nullopt.
std::optional<std::string_view> ResidualSignal(std::string_view name);

/// The layout of sign bits in a residual lane. The file does not declare it, so
/// Find derives it from sizes (docs/formats/wshard.md, section 6).
struct SignLayout {
  uint64_t steps = 0;
  uint64_t dimensions = 1;  // tracks of ceil(steps / 8) bytes each
  bool prefixed = false;    // a u32 length precedes each track
  bool flat = true;         // one track of shape [T], not [T, 1]

  /// Finds the layout of a lane of `size` bytes and `steps` steps. `elements`:
  /// elements per step of its signal, if known.
  static std::optional<SignLayout> Find(uint64_t size,
                                        std::optional<uint64_t> steps,
                                        std::optional<uint64_t> elements);

  const char* name() const;
  std::vector<uint64_t> shape() const;
  uint64_t track_size() const { return steps / 8 + (steps % 8 != 0 ? 1 : 0); }
  uint64_t decoded_size() const { return steps * dimensions; }
};

/// The signs as int8, row by row: 1 for a set bit, -1 for a clear bit.
class Signs final : public Transform {
 public:
  /// `packed`: the lane's bytes.
  Signs(std::shared_ptr<const Block> packed, const SignLayout& layout)
      : packed_(std::move(packed)), layout_(layout) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override;
  Status Verify(const ReadContext& context) const override;

 private:
  Result<BlockCache::Pinned> Packed(const ReadContext& context) const;
  /// Returns the first byte of a dimension's bits. Fails if the length prefix
  /// disagrees with the data.
  Result<const std::byte*> Track(const std::byte* packed,
                                 uint64_t dimension) const;

  std::shared_ptr<const Block> packed_;
  SignLayout layout_;
};

}  // namespace ctxfs::wshard
