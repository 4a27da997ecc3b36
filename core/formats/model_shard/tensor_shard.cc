// SPDX-License-Identifier: Apache-2.0
//
// Shows entries of a Shard as tensors (docs/formats/model_shard.md, sections 2
// and 3).
#include "core/formats/model_shard/tensor_shard.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/container/facts/facts.h"
#include "core/container/file_set.h"
#include "core/content/check_at.h"

namespace ctxfs::model_shard {
namespace {

// Stored bytes of a compressed entry that are decoded to read its header:
// enough for a usual header, then enough for a zstd block of incompressible
// bytes.
constexpr uint64_t kHeadPieces[] = {4 * limits::kKiB, 160 * limits::kKiB};

bool HoldsHeader(Bytes head) {
  constexpr uint64_t kFixed = TensorHeader::kFixedBytes;
  return head.size() >= kFixed &&
         head.size() >= kFixed + 8 * std::to_integer<uint64_t>(head[1]);
}

}  // namespace

bool IsReservedName(std::string_view name) {
  constexpr std::string_view kMark = "__";
  return name.size() >= 2 * kMark.size() && name.starts_with(kMark) &&
         name.ends_with(kMark);
}

bool TensorShard::MayBeTensor(uint32_t entry) const {
  return !IsReservedName(EntryName(entry).value_or("")) &&
         !EntryLocked(entry) && EntrySize(entry) >= TensorHeader::kFixedBytes;
}

bool TensorShard::LikelyTensor(uint32_t entry) const {
  return !IsPlain(entry) && Record(entry).content_type == shard::kTensorContent;
}

Result<std::optional<Buffer>> TensorShard::Head(uint32_t entry,
                                                const Request& request) const {
  const shard::ShardRecord record = Record(entry);
  const uint64_t wanted = std::min(EntrySize(entry), TensorHeader::kMaxBytes);
  if (IsPlain(entry)) {
    Buffer head = CTXFS_TRY(ReadBuffer(*source(), record.data_offset, wanted,
                                       "tensor header", request));
    return std::optional(std::move(head));
  }
  // A prefix of an encrypted entry cannot be decoded. Nor can a prefix of an
  // entry whose stored and decoded sizes are equal: only the checksum of the
  // whole entry shows whether it is compressed.
  if (Seal(entry) != nullptr || record.disk_size == record.orig_size)
    return std::optional<Buffer>();
  for (const uint64_t piece : kHeadPieces) {
    const Buffer stored = CTXFS_TRY(ReadBuffer(
        *source(), record.data_offset, std::min(piece, record.disk_size),
        "tensor header", request));
    Buffer head(static_cast<size_t>(wanted));
    const size_t got = DecodePrefix(PickCodec(record, stored.span()),
                                    stored.span(), head.span());
    if (!HoldsHeader(head.span().first(got))) continue;
    Buffer exact(got);
    std::copy_n(head.data(), got, exact.data());
    return std::optional(std::move(exact));
  }
  return std::optional<Buffer>();
}

Result<TensorHeader> TensorShard::Parse(uint32_t entry, Bytes head) const {
  // In role 1, bytes may follow the elements. In other roles, other entries can
  // look like tensors, so the size must match exactly.
  const bool exact = header().role != shard::kModelRole;
  return ParseTensorV1(head, EntrySize(entry), exact,
                       Record(entry).data_offset);
}

std::optional<Result<TensorHeader>> TensorShard::CheapHeader(
    uint32_t entry, const Request& request) const {
  if (!MayBeTensor(entry)) {
    return Error{Code::kCorrupt, "not a tensor: too short, or a reserved name",
                 Record(entry).data_offset};
  }
  const std::optional<Buffer> head = CTXFS_TRY(Head(entry, request));
  if (!head) return std::nullopt;
  return Parse(entry, head->span());
}

Result<TensorHeader> TensorShard::Header(uint32_t entry,
                                         const ReadContext& context) const {
  if (std::optional<Result<TensorHeader>> cheap = CheapHeader(entry, context)) {
    return *std::move(cheap);
  }
  if (!LikelyTensor(entry)) {
    return Error{Code::kCorrupt, "not a tensor: its first bytes do not decode",
                 Record(entry).data_offset};
  }
  const Content content = CTXFS_TRY(OpenEntry(entry, context));
  Buffer head(
      static_cast<size_t>(std::min(content.size(), TensorHeader::kMaxBytes)));
  CTXFS_TRY(ReadInto(content, 0, head.span(), context));
  return Parse(entry, head.span());
}

Result<Content> TensorShard::OpenTensor(uint32_t entry,
                                        const ReadContext& context) const {
  const TensorHeader header = CTXFS_TRY(Header(entry, context));
  const Content content = CTXFS_TRY(OpenEntry(entry, context));
  return content.Slice(header.header_size, header.data_size);
}

EntryInfo TensorShard::Describe(uint32_t entry, const Request& request) const {
  EntryInfo info = shard::ShardContainer::Describe(entry, request);
  const std::optional<Result<TensorHeader>> header =
      CheapHeader(entry, request);
  if (!header || !*header) return info;
  info.kind = "tensor";
  info.dtype = (*header)->type_name;
  info.shape = (*header)->shape;
  if (info.note.empty()) info.note = (*header)->note;
  return info;
}

EntryInfo TensorShard::DescribeTensor(uint32_t entry,
                                      const Request& request) const {
  EntryInfo info = Describe(entry, request);
  const std::optional<Result<TensorHeader>> header =
      CheapHeader(entry, request);
  if (!header) return info;
  if (!*header) {
    info.size = 0;
    info.note = header->error().what;
    return info;
  }
  info.size = (*header)->data_size;
  if (IsPlain(entry)) {
    info.offset += (*header)->header_size;
    info.stored_size = info.size;
  }
  return info;
}

/// Returns the files views/tensors/NAME: the elements of the tensor in entry
/// NAME.
std::shared_ptr<const FileTable> TensorShard::TensorFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = "tensors",
                     .exists_cost = Cost::kSmallRead},
       .count = entry_count(),
       .path = PathsOfEntries(
           EntryTable(), [this](uint32_t entry) { return MayBeTensor(entry); }),
       .open =
           [this](uint32_t entry, const ReadContext& context) {
             return OpenTensor(entry, context);
           },
       .facts =
           [this](uint32_t entry) {
             return FileFacts{.size_cost = IsPlain(entry) ? Cost::kSmallRead
                                                          : Cost::kDecode};
           },
       .size =
           [this](uint32_t entry, const ReadContext& context) {
             return SizeIn(Header(entry, context), &TensorHeader::data_size);
           },
       // A listed file must exist when it is looked up, even if damaged.
       .exists = [this](uint32_t entry, Cost most,
                        const ReadContext& context) -> Result<bool> {
         const bool likely = LikelyTensor(entry);
         if (most < Cost::kDecode && likely) return true;
         return ExistsIf(Header(entry, context), likely);
       },
       .describe =
           [this](uint32_t entry, const ReadContext& context) {
             return DescribeTensor(entry, context);
           },
       .owner = Share(*this)});
}

Container::Tables TensorShard::Files() const {
  Tables files = shard::ShardContainer::Files();
  files.push_back(TensorFiles());
  return files;
}

ArrayInfo TensorShard::TensorArray(std::string name, uint32_t entry,
                                   const TensorHeader& header) const {
  return {std::move(name), header.dtype, header.shape,
          [self = Share(*this), entry](const ReadContext& context) {
            return self->OpenTensor(entry, context);
          },
          /*opening_reads=*/true};
}

std::vector<ArrayInfo> TensorShard::Arrays(const ReadContext& context) const {
  if (entry_count() > limits::kArrayEntries) return {};
  std::vector<ArrayInfo> arrays;
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    if (!CheckAt(context, entry)) break;
    const std::optional<std::string_view> name = EntryName(entry);
    if (!name || !MayBeTensor(entry)) continue;
    const Result<TensorHeader> header = Header(entry, context);
    if (!header && header.error().code == Code::kInterrupted) break;
    if (header)
      arrays.push_back(TensorArray(std::string(*name), entry, *header));
  }
  return arrays;
}

Status TensorShard::CheckTensor(uint32_t entry,
                                const ReadContext& context) const {
  const bool declared = Record(entry).content_type == shard::kTensorContent &&
                        !IsReservedName(EntryName(entry).value_or(""));
  if (declared && EntryLocked(entry)) {
    return Error{Code::kLocked, "encrypted, and there is no key",
                 Record(entry).data_offset};
  }
  if (!MayBeTensor(entry)) return {};
  const Result<TensorHeader> header = Header(entry, context);
  if (header || (!declared && header.error().Permanent())) return {};
  return header.error();
}

Status TensorShard::CheckTensors(const ReadContext& context) const {
  uint64_t missing = 0;
  std::optional<Error> first;
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    CTXFS_TRY(CheckAt(context, entry));
    const Status tensor = CheckTensor(entry, context);
    if (tensor) continue;
    if (tensor.error().Passing()) return Within(Label(entry), tensor.error());
    if (missing++ == 0) first = Within(Label(entry), tensor.error());
  }
  if (!first) return {};
  first->what =
      fmt::format("{} of {} entries cannot be read as arrays; the first is {}",
                  missing, entry_count(), first->what);
  return *std::move(first);
}

Status TensorShard::AddOwnFacts(const ReadContext& context,
                                Facts& facts) const {
  return AddParameters(*Entries(), context, facts);
}

Exports TensorShard::Export() const {
  Exports exports;
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    if (!MayBeTensor(entry)) continue;
    exports.arrays = [self = Share(*this)](const ReadContext& context) {
      return self->Arrays(context);
    };
    exports.complete = [self = Share(*this)](const ReadContext& context) {
      return self->CheckTensors(context);
    };
    break;
  }
  return exports;
}

void TensorShard::AddInfo(Json& info, const ReadContext& context) const {
  shard::ShardContainer::AddInfo(info, context);
  // Headers are scattered over the container, so only the first few thousand
  // are read.
  uint32_t tensors = 0;
  uint32_t examined = 0;
  for (uint32_t entry = 0;
       entry < entry_count() && examined < limits::kHeadersExamined; ++entry) {
    if (!CheckAt(context, entry)) break;
    if (EntryFault(entry) || IsReservedName(EntryName(entry).value_or(""))) {
      continue;
    }
    ++examined;
    const std::optional<Result<TensorHeader>> header =
        CheapHeader(entry, context);
    if (!header) continue;
    if (!*header && header->error().code == Code::kInterrupted) break;
    if (*header) {
      ++tensors;
    } else if (Record(entry).content_type == shard::kTensorContent) {
      info["warnings"].push_back(Within(Label(entry), header->error()).Text());
    }
  }
  info["tensors"] = tensors;
  info["tensors_examined"] = examined;
}

}  // namespace ctxfs::model_shard
