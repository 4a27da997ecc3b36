// SPDX-License-Identifier: Apache-2.0
#include "core/formats/wshard/residual.h"

#include <fmt/core.h>

#include "core/base/bytes.h"

namespace ctxfs::wshard {
namespace {

constexpr uint64_t kPrefixSize = 4;

}  // namespace

std::optional<std::string_view> ResidualSignal(std::string_view name) {
  constexpr std::string_view kFirst = "residual/";
  constexpr std::string_view kLast = "/sign2nddiff";
  if (name.size() <= kFirst.size() + kLast.size() ||
      !name.starts_with(kFirst) || !name.ends_with(kLast)) {
    return std::nullopt;
  }
  name.remove_prefix(kFirst.size());
  name.remove_suffix(kLast.size());
  return name;
}

std::optional<SignLayout> SignLayout::Find(uint64_t size,
                                           std::optional<uint64_t> steps,
                                           std::optional<uint64_t> elements) {
  if (!steps || *steps == 0) return std::nullopt;
  SignLayout layout;
  layout.steps = *steps;
  const uint64_t track = layout.track_size();
  // Some writers store one track even for signals of several dimensions.
  if (size == track) return layout;
  if (!elements || !CheckedMul(*steps, *elements)) return std::nullopt;
  layout.dimensions = *elements;
  layout.flat = false;
  if (CheckedMul(*elements, track) == size) return layout;
  layout.prefixed = true;
  if (CheckedMul(*elements, track + kPrefixSize) == size) return layout;
  return std::nullopt;
}

const char* SignLayout::name() const {
  if (prefixed) return "length-prefixed, dimension by dimension";
  return flat ? "one dimension" : "plain, dimension by dimension";
}

std::vector<uint64_t> SignLayout::shape() const {
  if (flat) return {steps};
  return {steps, dimensions};
}

Result<BlockCache::Pinned> Signs::Packed(const ReadContext& context) const {
  BlockCache::Pinned packed = CTXFS_TRY(context.Get(*packed_));
  CTXFS_TRY(packed_->CheckUnchanged());
  return packed;
}

Result<const std::byte*> Signs::Track(const std::byte* packed,
                                      uint64_t dimension) const {
  const uint64_t track = layout_.track_size();
  if (!layout_.prefixed) return packed + dimension * track;
  packed += dimension * (track + kPrefixSize);
  if (const auto prefix = LoadLe<uint32_t>(packed); prefix != track) {
    return Error{Code::kCorrupt,
                 fmt::format("dimension {} says {} bytes of signs, not {}",
                             dimension, prefix, track)};
  }
  return packed + kPrefixSize;
}

Status Signs::Compute(uint64_t offset, MutableBytes out,
                      const ReadContext& context) const {
  const BlockCache::Pinned packed = CTXFS_TRY(Packed(context));
  uint64_t step = offset / layout_.dimensions;
  uint64_t dimension = offset % layout_.dimensions;
  for (std::byte& sign : out) {
    const std::byte* track = CTXFS_TRY(Track(packed->data(), dimension));
    const std::byte eight = track[step / 8];
    const bool set = (eight >> (step % 8) & std::byte{1}) != std::byte{0};
    sign = static_cast<std::byte>(set ? 1 : -1);
    if (++dimension == layout_.dimensions) {
      dimension = 0;
      ++step;
    }
  }
  return {};
}

Status Signs::Verify(const ReadContext& context) const {
  const BlockCache::Pinned packed = CTXFS_TRY(Packed(context));
  for (uint64_t d = 0; d < layout_.dimensions; ++d) {
    CTXFS_TRY(Track(packed->data(), d));
  }
  return {};
}

}  // namespace ctxfs::wshard
