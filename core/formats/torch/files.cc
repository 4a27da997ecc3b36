// SPDX-License-Identifier: Apache-2.0
//
// Builds the files of a checkpoint (docs/formats/torch.md, section 11).
#include <utility>

#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/facts/adapter_facts.h"
#include "core/container/facts/config_facts.h"
#include "core/content/strided.h"
#include "core/formats/torch/checkpoint.h"

namespace ctxfs::torch {
namespace {

constexpr const char* kDocumentNames[] = {"value.json", "constants.json"};
// The low bits of a block's key, which number the pieces of a storage. A
// storage has fewer than 2^32 pieces.
constexpr unsigned kPieceBits = 32;
// This bit is set in the block keys of a tensor that does not begin where its
// storage begins. Such a tensor has pieces of its own, not those of its
// storage.
constexpr uint64_t kOwnPieces = uint64_t{1} << 63;

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBf16 ||
         dtype == DType::kF32 || dtype == DType::kF64 || IsFloat8(dtype);
}

}  // namespace

Result<Content> Checkpoint::OpenStorage(const Storage& storage,
                                        const Request& request) const {
  if (storage.member) return archive_->Open(*storage.member, request);
  return Content(Range{source(), storage.offset, nullptr}, storage.size);
}

std::optional<Error> Checkpoint::TensorFault(uint32_t number) const {
  const Tensor& tensor = tensors_[number];
  const Layout& placed = *tensor.layout;
  if (placed.fault == nullptr) return std::nullopt;
  const uint64_t at = placed.storage < storages_.size()
                          ? storages_[placed.storage].offset
                          : kNoOffset;
  return Error{placed.over_limit ? Code::kLimit : Code::kCorrupt,
               "tensor " + Quote(tensor.name) + ": " + *placed.fault, at};
}

Result<Content> Checkpoint::OpenTensor(uint32_t number,
                                       const Request& request) const {
  if (std::optional<Error> fault = TensorFault(number)) {
    return *std::move(fault);
  }
  return Arranged(number, CTXFS_TRY(OpenStorageOf(number, request)));
}

Content Checkpoint::Arranged(uint32_t number, const Content& stored) const {
  const Layout& tensor = *tensors_[number].layout;
  const DType dtype = tensor.type.dtype;
  const auto width = static_cast<uint32_t>(DTypeSize(dtype));
  StridedLayout layout;
  layout.width = width;
  layout.shape = *tensor.shape;
  layout.strides = *tensor.strides;
  layout.offset = tensor.offset;
  layout.float_width = IsComplex(dtype) ? width / 2 : width;
  if (big_endian_) layout.swap = layout.float_width;
  layout.flip_first = tensor.negative && (IsComplex(dtype) || IsFloat(dtype));
  layout.flip_second = IsComplex(dtype) && tensor.negative != tensor.conjugate;
  const uint64_t pieces = tensor.start == 0
                              ? uint64_t{tensor.storage} << kPieceBits
                              : kOwnPieces | uint64_t{number} << kPieceBits;
  return StridedContent(
      {owner_, pieces},
      stored.Slice(tensor.start, stored.size() - tensor.start),
      std::move(layout));
}

bool Checkpoint::IsWholeRecord(const Layout& tensor,
                               const Storage& storage) const {
  const bool swapped = big_endian_ && DTypeSize(tensor.type.dtype) > 1;
  return tensor.fault == nullptr && tensor.size == storage.size && !swapped &&
         !tensor.conjugate && !tensor.negative &&
         *tensor.strides == RowMajorStrides(*tensor.shape);
}

EntryInfo Checkpoint::DescribeTensor(uint32_t number) const {
  const Layout& tensor = *tensors_[number].layout;
  EntryInfo info;
  info.name = tensors_[number].name;
  info.kind = "tensor";
  info.verified = "none";
  if (tensor.storage < storages_.size()) {
    const Storage& storage = storages_[tensor.storage];
    info.offset = storage.offset;
    if (storage.member) {
      const EntryInfo record = archive_->Describe(*storage.member);
      info.stored_size = record.stored_size;
      info.codec = record.codec;
      // The checksum is of the whole stored record.
      if (IsWholeRecord(tensor, storage)) info.checksum = record.checksum;
      info.verified = record.verified;
      info.extra["record"] = std::string(archive_->Name(*storage.member));
    } else {
      info.stored_size = storage.size;
    }
  }
  info.size = tensor.size;
  info.dtype = DTypeName(tensor.type.dtype);
  info.shape = *tensor.shape;
  if (tensor.type.bits) {
    info.note = "the stored bytes of " + std::string(tensor.type.name);
  }
  if (tensor.note != nullptr) info.note = *tensor.note;
  if (tensor.fault != nullptr) info.note = *tensor.fault;
  return info;
}

Container::Tables Checkpoint::Files() const {
  Tables tables = {TensorFiles()};
  if (archive_ != nullptr) {
    tables.push_back(zip::MemberTable(archive_, {.role = Role::kRaw},
                                      all_in_top_ ? top_ : std::string()));
  }
  return tables;
}

Container::Tables Checkpoint::FilesWithPaths(const PathsInTree& paths) const {
  Tables tables;
  for (const Which which : {kValue, kConstants}) {
    const PickleFile& file = pickles_[which];
    if (!file.shown) continue;
    tables.push_back(TextDocument(
        Role::kPrimary, kDocumentNames[which], {owner_, kOwnPieces - 1 - which},
        source(),
        [self = Share(*this), which, &paths](const ReadContext& context) {
          return self->DocumentText(which, paths, context);
        },
        file.text != nullptr ? Cost::kSmallRead : Cost::kDecode));
  }
  return tables;
}

Status Checkpoint::AddFacts(const ReadContext& context, Facts& facts) const {
  CTXFS_TRY(AddModelFacts(documents_, context, facts));
  if (source()->name() == "adapter_model.bin") {
    CTXFS_TRY(AddAdapterFacts(*source(), context, facts));
  }
  CTXFS_TRY(AddParameters(*Entries(), context, facts));
  const Json info = Info(context);
  AddNamed(info,
           {{"form", "form"},
            {"torchscript", "torchscript"},
            {"archive_version", "version"},
            {"byte_order", "byteorder"},
            {"unsafe_globals", "unsafe_globals"}},
           facts);
  AddGlobalFacts(info, facts);
  return {};
}

Exports Checkpoint::Export() const {
  Exports exports = TensorExports();
  exports.bundle_name = "model";
  exports.documents = documents_;
  return exports;
}

std::optional<ArrayInfo> Checkpoint::ArrayOf(uint32_t number) const {
  const Tensor& tensor = tensors_[number];
  const Layout& layout = *tensor.layout;
  if (layout.fault != nullptr) return std::nullopt;
  ArrayInfo array;
  array.name = tensor.name;
  array.dtype = layout.type.dtype;
  array.shape = *layout.shape;
  array.opening_reads = true;
  array.open = [self = Share(*this), number](const ReadContext& context) {
    return self->OpenTensor(number, context);
  };
  return array;
}

void Checkpoint::AddInfo(Json& info, const ReadContext& /*context*/) const {
  info.update({{"format", "torch"},
               {"form", archive_ != nullptr ? "zip" : "legacy"},
               {"torchscript", script_},
               {"entries", tensors_.size()},
               {"storages", storages_.size()},
               {"byteorder", big_endian_ ? "big" : "little"}});
  if (version_) info["version"] = *version_;
  DescribeGlobals(globals_, {.script = script_}, info);
}

}  // namespace ctxfs::torch
