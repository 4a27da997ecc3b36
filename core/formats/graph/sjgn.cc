// SPDX-License-Identifier: Apache-2.0
//
// Cowrie-GNN graphs (docs/formats/sjgn.md), as files of their own and as
// entries of a GraphShard.
//
//   "SJGN", version, flags, number of sections, sections
//   section: kind, [encoding], name, u64 length, body
//   "SJGZ", u32 decoded size, a zstd frame of the above
//
// Numbers without a width are unsigned LEB128; the length of a text comes
// before it.
#include "core/formats/graph/sjgn.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/codec/codec.h"
#include "core/container/bytes_after.h"
#include "core/container/open.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/graph/limits.h"

namespace ctxfs::graph {
namespace {

constexpr uint32_t kPlainMagic = 0x4E474A53;   // "SJGN"
constexpr uint32_t kPackedMagic = 0x5A474A53;  // "SJGZ"
constexpr uint8_t kMinor1 = 0x10;              // byte 5 of version 1.1

/// Returns the encoding of a section of version 1.0, which stores none: 0 JSON,
/// 2 plain bytes, 3 a stream of events.
uint8_t ImpliedEncoding(uint64_t kind) {
  constexpr uint8_t kEncodings[] = {0, 3, 3, 2, 0, 0};
  return kind < std::size(kEncodings) ? kEncodings[kind] : uint8_t{0};
}

}  // namespace

/// Detects from its first bytes whether a meta section is cowrie, because
/// writers always store the encoding 0.
void Graph::FindEncoding(Section& section, const ReadContext& context) const {
  std::byte head[2] = {};
  section.packed = section.length > sizeof(head) &&
                   section.length <= limits::kJsonBytes &&
                   data_->ReadAt(section.offset, head, context) &&
                   cowrie::LooksLikeCowrie(head);
}

Status Graph::Load(const ReadContext& context) {
  SjgnCursor in(*data_, 4, data_->size(), context);
  const uint8_t major = in.U8();
  flags_ = in.U8();
  minor_ = flags_ == kMinor1 ? 1 : 0;
  // In version 1.0, byte 5 has four flag bits, so it is less than 0x10.
  if (in.ok() && flags_ > kMinor1) {
    return Error{Code::kVersion, "SJGN of a later version than 1.1", 5};
  }
  if (minor_ == 1) flags_ = in.U8();
  if (in.ok() && major != 1) {
    return Error{
        Code::kVersion,
        fmt::format("SJGN version {} is not supported, only 1 is", major), 4};
  }
  const uint64_t count = in.Uvarint();
  if (count > kMaxSections) {
    return Error{Code::kLimit,
                 fmt::format("{} sections are over the limit of {}", count,
                             kMaxSections),
                 in.at()};
  }
  for (uint64_t i = 0; in.ok() && i < count; ++i) {
    CTXFS_TRY(context.Check());
    Section section;
    section.kind = in.Uvarint();
    // The stored encoding is only shown, not used: writers always store 0.
    section.encoding = minor_ == 1 ? in.U8() : ImpliedEncoding(section.kind);
    section.name = in.Text();
    section.length = in.U64();
    section.offset = in.Skip(section.length);
    if (in.ok()) sections_.push_back(std::move(section));
  }
  if (!in.ok()) return in.error();
  if (in.remaining() > 0) {
    Warn(CTXFS_TRY(BytesAfter(
        *data_, in.at(),
        fmt::format("{} bytes follow the last section", in.remaining()),
        formats_, context)));
  }
  for (Section& section : sections_) {
    CTXFS_TRY(context.Check());
    if (section.kind == kMeta) FindEncoding(section, context);
    CTXFS_TRY(ReadBody(section, context));
  }
  for (uint32_t i = 0; i < tables_.size(); ++i) AddIds(i);
  reads_ = std::vector<std::atomic<bool>>(tables_.size());
  return {};
}

void Graph::AddInfo(Json& info, const ReadContext& context) const {
  info.update({{"format", "sjgn"},
               {"version", fmt::format("1.{}", minor_)},
               {"flags", flags_},
               {"entries", sections_.size()}});
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (reads_[i].load(std::memory_order_acquire)) continue;
    if (!context.Check()) break;
    const Result<Buffer> ids =
        TableBlock(i, SjgnWanted::kIds)->Produce(context);
    if (ids) {
      reads_[i].store(true, std::memory_order_release);
      continue;
    }
    info["warnings"].push_back(
        Warning{Quote(tables_[i].name) + " has no arrays: " + ids.error().what,
                ids.error().offset}
            .Text());
  }
}

/// Finds the arrays or the table of a section. A section that cannot be parsed
/// as its kind appears only in .ctxfs/raw. Fails on transient errors, because
/// the tree must not depend on whether a read has failed.
Status Graph::ReadBody(const Section& section, const ReadContext& context) {
  SjgnCursor in(*data_, section.offset, section.offset + section.length,
                context);
  std::vector<SjgnArray> found;
  if (section.kind == kFeature) {
    found.push_back(ReadFeature(in, section.name));
  } else if (section.kind == kSplit) {
    found = ReadSplit(in, section.name);
  } else if (section.kind == kAux) {
    found = ReadAdjacency(in, section.name);
  } else if (section.kind == kNodes || section.kind == kEdges) {
    if (section.length > kMaxBytes) {
      in.Fail("a table of more than 256 MiB");
    } else {
      SjgnSection table{section.name, section.kind == kEdges, section.offset,
                        section.length};
      MeasureSjgnTable(in, context, table);
      if (in.ok()) tables_.push_back(std::move(table));
    }
  } else {
    return {};
  }
  if (in.ok()) {
    for (SjgnArray& array : found) arrays_.push_back(std::move(array));
  } else if (in.error().Permanent()) {
    Warn({Quote(section.name) + ": " + in.error().what, in.error().offset});
  } else {
    return in.error();
  }
  return {};
}

namespace {

bool Probe(Bytes head) {
  if (head.size() < 4) return false;
  const auto magic = LoadLe<uint32_t>(head.data());
  return magic == kPlainMagic || magic == kPackedMagic;
}

/// Decompresses an SJGZ file into memory, as SJGN.
Result<std::shared_ptr<const Source>> Unpack(
    std::shared_ptr<const Source> packed, const ReadContext& context) {
  constexpr uint64_t kFrameAt = 8;
  const Buffer all = CTXFS_TRY(
      ReadBuffer(*packed, 0, packed->size(), "packed graph", context));
  if (all.size() < kFrameAt) {
    return Error{Code::kCorrupt, "the file ends within its header", all.size()};
  }
  const auto size = LoadLe<uint32_t>(all.data() + 4);
  if (size > kMaxBytes) {
    return Error{Code::kLimit, "the graph decodes to more than 256 MiB", 4};
  }
  CTXFS_TRY(HeapAllowance::Admit(size));
  Buffer plain(size);
  Status decoded = DecodeZstd(all.span().subspan(kFrameAt), plain.span(),
                              context.interrupt());
  if (!decoded) {
    return Error{decoded.error().code, decoded.error().what, kFrameAt};
  }
  if (AsText(plain.span()).starts_with("SJGS")) {
    return Error{Code::kNotContainer,
                 "not a container of a known format: it is a stream of Cowrie "
                 "graph events, which ctxfs does not open",
                 kFrameAt};
  }
  if (!AsText(plain.span()).starts_with("SJGN")) {
    return Error{Code::kCorrupt, "it does not decode to an SJGN graph",
                 kFrameAt};
  }
  return std::shared_ptr<const Source>(std::make_shared<const UnpackedSource>(
      std::move(packed), std::move(plain)));
}

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  const Buffer magic = CTXFS_TRY(ReadBuffer(*source, 0, 4, "magic", context));
  std::shared_ptr<const Source> data = source;
  if (LoadLe<uint32_t>(magic.data()) == kPackedMagic) {
    if (source->size() > kMaxBytes) {
      return Error{Code::kLimit, "the file is larger than 256 MiB", 0};
    }
    data = CTXFS_TRY(Unpack(source, context));
  }
  return LoadContainer<Graph>(context, std::move(source), std::move(data),
                              options.formats);
}

}  // namespace

}  // namespace ctxfs::graph

namespace ctxfs {

extern const Format kSjgn{.name = "sjgn",
                          .contents = "graphs (Cowrie-GNN)",
                          .extensions = "sjgn sjgz",
                          .golden = "shard-profiles",
                          .docs = "sjgn",
                          .probe = &graph::Probe,
                          .open = &graph::Open};

}  // namespace ctxfs
