// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/content/content.h"
#include "core/io/source.h"

namespace ctxfs {

/// Expands the bits at byte `at` of `source`, lowest bit first, to bytes of 0
/// or 1.
class BitBytes final : public Transform {
 public:
  BitBytes(std::shared_ptr<const Source> source, uint64_t at)
      : source_(std::move(source)), at_(at) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const uint64_t first = offset / 8;
    Buffer bits(static_cast<size_t>((offset + out.size() + 7) / 8 - first));
    CTXFS_TRY(source_->ReadAt(at_ + first, bits.span(), context));
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t bit = offset + i - first * 8;
      out[i] = bits.span()[static_cast<size_t>(bit / 8)] >>
                   static_cast<unsigned>(bit % 8) &
               std::byte{1};
    }
    return {};
  }

 private:
  std::shared_ptr<const Source> source_;
  uint64_t at_;
};

}  // namespace ctxfs
