// SPDX-License-Identifier: Apache-2.0
#include "core/formats/gguf/values.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/limits.h"

namespace ctxfs::gguf {
namespace {

// Bytes to read at once. The decoded values must fit in the processor's cache.
constexpr uint64_t kBatchBytes = 64 * limits::kKiB;

class Values final : public Transform {
 public:
  Values(std::shared_ptr<const Source> source, uint64_t offset,
         const GgufType& type, bool big_endian)
      : source_(std::move(source)),
        offset_(offset),
        type_(type),
        big_endian_(big_endian) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    if (out.empty()) return {};
    const uint64_t width = type_.block * sizeof(float);
    const uint64_t last = (offset + out.size() - 1) / width;
    const uint64_t batch = kBatchBytes / type_.bytes;
    Buffer bytes(static_cast<size_t>(
        std::min(batch, last - offset / width + 1) * type_.bytes));
    for (uint64_t block = offset / width; block <= last;) {
      CTXFS_TRY(context.Check());
      const uint64_t count = std::min(batch, last - block + 1);
      const MutableBytes stored =
          bytes.span().first(static_cast<size_t>(count * type_.bytes));
      CTXFS_TRY(
          source_->ReadAt(offset_ + block * type_.bytes, stored, context));
      if (big_endian_) SwapHalves(stored);
      Fill(stored, block, count, offset, out);
      block += count;
    }
    return {};
  }

 private:
  void SwapHalves(MutableBytes stored) const {
    const GgufQuant& quant = type_.quant;
    for (uint32_t n = 0; n < quant.halves.value_or(0); ++n) {
      const size_t at = quant.halves_at + 2 * n;
      for (size_t i = at; i < stored.size(); i += type_.bytes) {
        std::swap(stored[i], stored[i + 1]);
      }
    }
  }

  /// Decodes the blocks [first, first + count) and writes to `out`, the window
  /// at `offset`, the values that are in the window.
  void Fill(Bytes stored, uint64_t first, uint64_t count, uint64_t offset,
            MutableBytes out) const {
    const uint64_t width = type_.block * sizeof(float);
    const uint64_t end = offset + out.size();
    uint64_t whole = first;  // all of [whole, whole_end) is in `out`
    uint64_t whole_end = first + count;
    if (whole * width < offset) {
      Part(stored.data(), whole * width, offset, out);
      ++whole;
    }
    if (whole < whole_end && whole_end * width > end) {
      --whole_end;
      Part(stored.data() + (whole_end - first) * type_.bytes, whole_end * width,
           offset, out);
    }
    if (whole >= whole_end) return;
    GgufDequantize(type_, stored.data() + (whole - first) * type_.bytes,
                   static_cast<size_t>(whole_end - whole),
                   out.data() + (whole * width - offset));
  }

  /// Decodes a part of one block; the block's values start at byte `at`.
  void Part(const std::byte* stored, uint64_t at, uint64_t offset,
            MutableBytes out) const {
    std::byte values[GgufCodes::kMax * sizeof(float)];
    GgufDequantize(type_, stored, 1, values);
    const uint64_t from = std::max(at, offset);
    const uint64_t to = std::min<uint64_t>(at + type_.block * sizeof(float),
                                           offset + out.size());
    std::memcpy(out.data() + (from - offset), values + (from - at),
                static_cast<size_t>(to - from));
  }

  const std::shared_ptr<const Source> source_;
  const uint64_t offset_;
  const GgufType& type_;
  const bool big_endian_;
};

}  // namespace

Content GgufValues(std::shared_ptr<const Source> source, uint64_t offset,
                   const GgufType& type, uint64_t blocks, bool big_endian) {
  auto values = std::make_shared<const Values>(std::move(source), offset, type,
                                               big_endian);
  return {Computed{std::move(values), 0}, blocks * type.block * sizeof(float)};
}

}  // namespace ctxfs::gguf
