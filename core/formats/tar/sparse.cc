// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/sparse.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/tar/header.h"
#include "core/formats/tar/pax.h"

namespace ctxfs::tar {
namespace {

constexpr size_t kFieldBytes = 12;
// Parts between two interrupt checks.
constexpr size_t kPartsPerCheck = 1024;

/// The bytes of a sparse file as a single extent. With an extent for each part
/// and hole, the cost of an open handle would grow with the map.
class SparseBytes final : public Transform {
 public:
  SparseBytes(std::shared_ptr<const Source> source,
              std::shared_ptr<const SparseMap> map)
      : source_(std::move(source)), map_(std::move(map)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    std::fill(out.begin(), out.end(), std::byte{0});
    const uint64_t end = offset + out.size();
    auto part = std::upper_bound(
        map_->parts.begin(), map_->parts.end(), offset,
        [](uint64_t at, const SparsePart& one) { return at < one.end(); });
    for (size_t read = 0; part != map_->parts.end() && part->from < end;
         ++part) {
      if (read++ % kPartsPerCheck == 0) {
        CTXFS_TRY(context.Check());
      }
      const uint64_t from = std::max(offset, part->from);
      const uint64_t to = std::min(end, part->end());
      const MutableBytes space = out.subspan(static_cast<size_t>(from - offset),
                                             static_cast<size_t>(to - from));
      CTXFS_TRY(
          source_->ReadAt(part->at + (from - part->from), space, context));
    }
    return source_->CheckUnchanged();  // holes alone read nothing
  }

 private:
  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const SparseMap> map_;
};

}  // namespace

void SparseBuilder::Add(uint64_t number) {
  if (failed()) return;
  if (!std::exchange(has_offset_, !has_offset_)) {
    offset_ = number;
    return;
  }
  const uint64_t before = map_.parts.empty() ? 0 : map_.parts.back().end();
  // Both numbers are below 2^63, so their sum cannot overflow.
  if (offset_ < before) {
    Fail("its map has parts that overlap or are not in order");
  } else if (map_.parts.size() >= most_) {
    Fail("the maps of sparse members have more parts than the limit");
  } else if (Status may = AdmitGrowth(map_.parts); !may) {
    Fail(may.error().what);
  } else if (number > 0) {
    map_.parts.push_back({offset_, number, 0});
  }
}

std::string_view SparseBuilder::AddText(std::string_view text, char end) {
  size_t stop = 0;
  while (!failed() && (stop = text.find(end)) != std::string_view::npos) {
    const Result<uint64_t> number = PaxSize(text.substr(0, stop));
    if (number) {
      Add(*number);
    } else {
      Fail("its map has a number that is not decimal, or not below 2^63");
    }
    text.remove_prefix(stop + 1);
  }
  return text;
}

void SparseBuilder::AddFields(Bytes fields) {
  for (; fields.size() >= 2 * kFieldBytes && !failed();
       fields = fields.subspan(2 * kFieldBytes)) {
    const Bytes size = fields.subspan(kFieldBytes, kFieldBytes);
    if (size[0] == std::byte{0}) return;
    for (const Bytes field : {fields.first(kFieldBytes), size}) {
      const Result<uint64_t> number = ParseNumber(field);
      if (number) {
        Add(*number);
      } else {
        Fail("its map has a number that is not octal, or not below 2^63");
      }
    }
  }
}

SparseMap SparseBuilder::Finish(uint64_t size, const Extent& data) && {
  if (has_offset_) Fail("its map ends with an offset that has no size");
  uint64_t stored = 0;
  for (SparsePart& part : map_.parts) {
    if (!InBounds(stored, part.size, data.size)) {
      Fail(fmt::format("its parts are more than the {} bytes that are stored",
                       data.size));
      break;
    }
    part.at = data.at + stored;
    stored += part.size;
  }
  const uint64_t end = map_.parts.empty() ? 0 : map_.parts.back().end();
  if (end > size) {
    Fail("its parts reach past its end at " + std::to_string(size));
  }
  if (failed()) {
    map_.parts = {};
    return std::move(map_);
  }
  map_.size = size;
  map_.holes = size - stored;
  if (HeapAllowance::Admit(map_.parts.size() * sizeof(SparsePart))) {
    map_.parts.shrink_to_fit();
  }
  return std::move(map_);
}

Content SparseContent(std::shared_ptr<const Source> source,
                      std::shared_ptr<const SparseMap> map) {
  const uint64_t size = map->size;
  return {Computed{std::make_shared<const SparseBytes>(std::move(source),
                                                       std::move(map)),
                   0},
          size};
}

}  // namespace ctxfs::tar
