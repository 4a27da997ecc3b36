// SPDX-License-Identifier: Apache-2.0
//
// Reads the maps of sparse members (docs/formats/tar.md, section 13):
//
//   GNU              The header, type S, has four pairs of offset and size at
//                    byte 386, 12 bytes per number; at 482 whether a block of
//                    further pairs follows; at 483 the size of the file. Such a
//                    block has 21 pairs, and at 504 whether another follows.
//   pax 0.0 and 0.1  Records of the pax header have the map.
//   pax 1.0          The data starts with decimal numbers, one per line: the
//                    count of parts, then offset and size of each part. These
//                    lines are padded to whole blocks.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/formats/tar/limits.h"
#include "core/formats/tar/sparse.h"
#include "core/formats/tar/walk.h"

namespace ctxfs::tar {
namespace {

constexpr size_t kPair = 24;

/// Whether another block of the sparse map follows.
bool Continues(Bytes block, size_t at) { return block[at] != std::byte{0}; }

}  // namespace

Status Walk::ReadGnuMap(Bytes header, SparseBuilder& map, uint64_t& size,
                        const ReadContext& context) {
  constexpr size_t kPairsAt = 386;
  constexpr size_t kContinuesAt = 482;
  constexpr size_t kSizeAt = 483;
  map.AddFields(header.subspan(kPairsAt, 4 * kPair));
  const Result<uint64_t> stated = ParseNumber(header.subspan(kSizeAt, 12));
  if (stated) {
    size = *stated;
  } else {
    map.Fail("its size is not a number below 2^63");
  }
  // The next read invalidates `header`.
  for (bool more = Continues(header, kContinuesAt); more;) {
    CTXFS_TRY(context.Check());
    if (!InBounds(data_at_, kBlock, source_.size())) {
      return Truncated(data_at_, kBlock, "the positions of a sparse member");
    }
    const Bytes block = CTXFS_TRY(reader_.At(data_at_, kBlock));
    data_at_ += kBlock;
    map.AddFields(block.first(21 * kPair));
    more = Continues(block, 21 * kPair);
  }
  return {};
}

Status Walk::ReadPaxMap(Extent& data, SparseBuilder& map,
                        const ReadContext& context) {
  constexpr std::string_view kBad = "its map does not end before its data does";
  std::string text;
  std::optional<uint64_t> left;  // numbers that follow
  uint64_t used = 0;             // bytes of the map
  while (!map.failed() && left != std::optional<uint64_t>(0)) {
    CTXFS_TRY(context.Check());
    if (used >= data.size) {
      map.Fail(std::string(kBad));
      break;
    }
    const uint64_t size = std::min(kBlock, data.size - used);
    const Bytes block =
        CTXFS_TRY(reader_.At(data.at + used, static_cast<size_t>(size)));
    used += size;
    text += AsText(block);
    ReadMapLines(text, left, map);
  }
  used = std::min(used, data.size);
  data = {data.at + used, data.size - used};
  return {};
}

void Walk::ReadMapLines(std::string& text, std::optional<uint64_t>& left,
                        SparseBuilder& map) {
  constexpr size_t kLongest = 20;  // digits of a number
  size_t done = 0;
  size_t stop = 0;
  while (!map.failed() && left != std::optional<uint64_t>(0) &&
         (stop = text.find('\n', done)) != std::string::npos) {
    const std::string_view line =
        std::string_view(text).substr(done, stop + 1 - done);
    done = stop + 1;
    if (left) {
      map.AddText(line, '\n');
      --*left;
      continue;
    }
    const Result<uint64_t> count = PaxSize(line.substr(0, line.size() - 1));
    if (!count || *count > kMaxSparseParts) {
      map.Fail("the count of its parts is not a number below the limit of " +
               std::to_string(kMaxSparseParts));
    } else {
      left = *count * 2;
    }
  }
  text.erase(0, done);
  const bool wants = left != std::optional<uint64_t>(0);
  if (wants && text.size() > kLongest) map.Fail("its map is not decimal lines");
}

Status Walk::AddSparse(Bytes header, Subject& subject,
                       const ReadContext& context) {
  const PaxValues& pax = pending_.pax;
  SparseBuilder map(kMaxSparseParts - sparse_parts_);
  uint64_t size = 0;
  if (subject.type == 'S') {
    CTXFS_TRY(ReadGnuMap(header, map, size, context));
  } else {
    const Result<uint64_t> stated = PaxSize(pax.sparse_size.value_or(""));
    if (!stated) map.Fail("there is no size of it in its pax header");
    if (stated) size = *stated;
  }
  CTXFS_TRY(Place(subject));
  Extent data = subject.data;
  if (subject.type != 'S' && pax.sparse_version.value_or("0.") == "1.0.") {
    CTXFS_TRY(ReadPaxMap(data, map, context));
  } else if (subject.type != 'S') {
    map.AddText(pax.sparse_map.value_or(""), ',');
  }
  SparseMap made = std::move(map).Finish(size, data);
  CTXFS_TRY(HeapAllowance::Check());
  LimitHoles(made);
  sparse_parts_ += made.parts.size();
  if (!made.fault.empty()) AddNote("sparse", at_);
  subject.data = data;
  Status added = AddFile(Kind::kSparse, subject);
  if (added) {
    members_.SetSparse(members_.count() - 1,
                       std::make_shared<const SparseMap>(std::move(made)));
  }
  return added;
}

void Walk::LimitHoles(SparseMap& map) {
  const uint64_t most =
      CheckedAdd(
          kMaxHoles,
          CheckedMul(source_.size(), kMaxHolesPerByte).value_or(UINT64_MAX))
          .value_or(UINT64_MAX);
  if (map.holes <= most - holes_) {
    holes_ += map.holes;
    return;
  }
  map = {};
  map.fault = fmt::format(
      "the holes of sparse members have more than {} bytes, which is 64 GiB "
      "and 1032 bytes for each of the archive",
      most);
}

}  // namespace ctxfs::tar
