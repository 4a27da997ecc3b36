// SPDX-License-Identifier: Apache-2.0
//
// Implements GGUF: a model with its metadata, in one or several files
// (docs/formats/gguf.md).
#include "core/formats/gguf/gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/container/bytes_after.h"
#include "core/container/open.h"
#include "core/content/strided.h"
#include "core/formats/gguf/tokenizer.h"
#include "core/formats/gguf/values.h"

namespace ctxfs::gguf {
namespace {

/// Checks the magic, and that the version is plausible in one of the byte
/// orders, because files of other formats, also cut or damaged ones, can begin
/// with the same letters.
bool Probe(Bytes head) {
  if (head.size() < 4 || LoadLe<uint32_t>(head.data()) != kGgufMagic)
    return false;
  if (head.size() < 8) return true;
  const auto version = LoadLe<uint32_t>(head.data() + 4);
  return (version >> 16) == 0 || (version & 0xFFFFU) == 0;
}

}  // namespace

Status GgufContainer::Load(const ReadContext& context) {
  GgufHeader header =
      CTXFS_TRY(ReadGgufHeader(*source(), options_.salvage, context));
  Need(header.data_end);
  AddPart(
      {source(), std::make_shared<const GgufHeader>(std::move(header)), {}, 0});
  CTXFS_TRY(LoadParts(context));
  tokenizer_ = GgufTokenizerFiles(source(), parts_.front().header, context);
  return WarnOfParts(context);
}

GgufContainer::Place GgufContainer::At(uint32_t tensor) const {
  // A part without tensors starts at the same number as the next part, so the
  // last part that starts there has the tensor.
  const auto after = std::upper_bound(
      parts_.begin(), parts_.end(), tensor,
      [](uint32_t wanted, const Part& part) { return wanted < part.first; });
  const Part& part = *(after - 1);
  const uint32_t number = tensor - part.first;
  return {part, part.header->tensors[number], number};
}

std::string_view GgufContainer::TensorName(uint32_t tensor) const {
  const Place at = At(tensor);
  return at.part.header->names[at.number];
}

uint64_t GgufContainer::TensorSize(uint32_t tensor) const {
  return At(tensor).tensor.size;
}

std::optional<Error> GgufContainer::TensorFault(uint32_t tensor) const {
  const Place at = At(tensor);
  return at.part.header->TensorFault(at.number);
}

Result<Content> GgufContainer::OpenTensor(uint32_t tensor,
                                          const Request& /*request*/) const {
  if (std::optional<Error> fault = TensorFault(tensor)) {
    return *std::move(fault);
  }
  const Place at = At(tensor);
  return Content(Range{at.part.source,
                       at.part.header->data_at + at.tensor.offset, nullptr},
                 at.tensor.size);
}

std::optional<uint64_t> GgufContainer::ValueBytes(uint32_t tensor) const {
  const Place at = At(tensor);
  const GgufType* quant = at.part.header->QuantOf(at.tensor);
  if (quant == nullptr) return std::nullopt;
  return at.tensor.size / quant->bytes * quant->block * sizeof(float);
}

Result<Content> GgufContainer::OpenValues(uint32_t tensor) const {
  if (std::optional<Error> fault = TensorFault(tensor)) {
    return *std::move(fault);
  }
  const Place at = At(tensor);
  const GgufType* quant = at.part.header->QuantOf(at.tensor);
  if (quant == nullptr) return TensorContainer::OpenValues(tensor);
  return GgufValues(at.part.source, at.part.header->data_at + at.tensor.offset,
                    *quant, at.tensor.size / quant->bytes,
                    at.part.header->layout.big_endian);
}

EntryInfo GgufContainer::DescribeTensor(uint32_t tensor) const {
  const Place at = At(tensor);
  const GgufHeader& header = *at.part.header;
  EntryInfo info;
  info.name = header.names[at.number];
  info.kind = "tensor";
  info.size = at.tensor.size;
  info.stored_size = at.tensor.size;
  info.offset =
      CheckedAdd(header.data_at, at.tensor.offset).value_or(UINT64_MAX);
  info.verified = "none";
  info.dtype = GgufTypeName(at.tensor.type);
  info.shape = header.Shape(at.tensor);
  info.extra["type_code"] = at.tensor.type;
  if (!at.part.file.empty()) info.extra["file"] = at.part.file;
  const GgufType* type = GgufTypeOf(at.tensor.type);
  if (const auto fault = header.TensorFault(at.number)) {
    info.note = fault->what;
  } else if (type == nullptr) {
    info.note = "its type is unknown: bytes only";
  } else if (!type->plain) {
    info.note = header.QuantOf(at.tensor) != nullptr
                    ? "quantised: its values are in views/dequantized/"
                    : "quantised: bytes only";
  }
  if (header.layout.big_endian && info.note.empty() && type->bytes > 1) {
    info.note = "the elements are big-endian";
  } else if (header.layout.big_endian && !info.note.empty()) {
    info.note += "; the file is big-endian";
  }
  return info;
}

EntryInfo GgufContainer::DescribeValues(uint32_t tensor) const {
  EntryInfo info = TensorContainer::DescribeValues(tensor);
  info.kind = "view";
  return info;
}

std::optional<ArrayInfo> GgufContainer::ArrayOf(uint32_t tensor) const {
  const Place at = At(tensor);
  const GgufHeader& header = *at.part.header;
  const GgufType* type = GgufTypeOf(at.tensor.type);
  if (at.tensor.fault != GgufTensor::Fault::kNone || type == nullptr) {
    return std::nullopt;
  }
  ArrayInfo array;
  array.name = header.names[at.number];
  array.shape = header.Shape(at.tensor);
  const auto self = Share(*this);
  if (!type->plain) {
    if (header.QuantOf(at.tensor) == nullptr) return std::nullopt;
    array.dtype = DType::kF32;
    array.open = [self, tensor](const ReadContext& /*context*/) {
      return self->OpenValues(tensor);
    };
    return array;
  }
  array.dtype = *type->plain;
  const uint32_t swap = header.layout.big_endian ? type->bytes : 1;
  array.open = [self, tensor,
                swap](const ReadContext& context) -> Result<Content> {
    Result<Content> stored = self->OpenTensor(tensor, context);
    if (!stored || swap == 1) return stored;
    return StridedContent({self->owner_, tensor}, *stored,
                          {.width = swap,
                           .shape = {stored->size() / swap},
                           .strides = {1},
                           .swap = swap});
  };
  return array;
}

Status GgufContainer::WarnOfParts(const ReadContext& context) {
  for (const Part& part : parts_) {
    const std::string where = part.file.empty() ? "" : part.file + ": ";
    for (const Error& fault : part.header->faults) {
      Warn({where + fault.what, fault.offset, Severity::kDamage});
    }
    const uint64_t more = part.header->fault_count - part.header->faults.size();
    if (more > 0) {
      Warn({fmt::format("{}and {} more faults", where, more)});
    }
    for (const Warning& warning : part.header->warnings) {
      Warn({where + warning.text, warning.offset});
    }
    CTXFS_TRY(WarnOfBytesAfter(part, context));
  }
  WarnAll(split_warnings_);
  return {};
}

Status GgufContainer::WarnOfBytesAfter(const Part& part,
                                       const ReadContext& context) {
  const GgufHeader& header = *part.header;
  const uint64_t size = part.source->size();
  // The last bytes of a cut file belong to a tensor that is not whole.
  if (size <= header.shown_end || size < header.data_end) return {};
  const std::string where = part.file.empty() ? "" : part.file + ": ";
  std::string text = fmt::format("{}{} trailing bytes after the data", where,
                                 size - header.shown_end);
  // If tensors are lost, the end of the data is unknown.
  if (header.fault_count > 0) {
    Warn({std::move(text), header.shown_end});
  } else {
    Warn(CTXFS_TRY(BytesAfter(*part.source, header.shown_end, std::move(text),
                              options_.formats, context)));
  }
  return {};
}

void GgufContainer::AddInfo(Json& info, const ReadContext& context) const {
  AddTotals(info, context);
  info.update({{"format", "gguf"},
               {"version", header().version},
               {"endian", header().layout.big_endian ? "big" : "little"},
               {"alignment", header().alignment},
               {"data_offset", header().data_at},
               {"pairs", header().pairs.size()},
               {"files", parts_.size()},
               {"salvaged", options_.salvage}});
}

}  // namespace ctxfs::gguf

namespace ctxfs {

extern const Format kGguf{
    .name = "gguf",
    .contents = "quantised models of llama.cpp",
    .extensions = "gguf",
    .golden = "gguf",
    .docs = "gguf",
    .probe = &gguf::Probe,
    .open = &OpenAs<gguf::GgufContainer>,
    .traits = {.stays_file = true, .opens_neighbours = true}};

}  // namespace ctxfs
