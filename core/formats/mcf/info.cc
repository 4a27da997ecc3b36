// SPDX-License-Identifier: Apache-2.0
//
// Describes an MCF container (info.json) and its tensors (docs/formats/mcf.md,
// section 13).
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/content/check_at.h"
#include "core/formats/mcf/limits.h"
#include "core/formats/mcf/mcf.h"

namespace ctxfs::mcf {

namespace {

// Maximum number of tensors' faults reported as warnings.
constexpr size_t kFaultsShown = 100;

}  // namespace

Status McfContainer::ReadModelInfo(const McfSection& section,
                                   const Request& request) {
  const uint64_t most = kMaxModelInfoBytes;
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(*source(), section.offset,
                           std::min(section.size, most), "ModelInfo", request));
  Result<Json> info = ParseMcfModelInfo(bytes.span(), request);
  if (info) {
    model_info_ = *std::move(info);
  } else {
    Warn({"ModelInfo, so no model_info.json: " + info.error().what,
          section.offset + info.error().offset, Severity::kDamage});
  }
  return {};
}

Status McfContainer::ReadQuantInfo(const McfSection& section,
                                   const Request& request) {
  // A tensor uses at most one record, of 24 bytes. 8 more bytes a tensor leave
  // room for the header of the section.
  constexpr uint64_t kMax = 32 * uint64_t{kMaxTensors};
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(*source(), section.offset,
                           std::min(section.size, kMax), "QuantInfo", request));
  Result<std::vector<McfQuantRecord>> records = ParseMcfQuantInfo(bytes.span());
  if (!records) {
    Warn({"QuantInfo, so no quant_info.json: " + records.error().what,
          section.offset + records.error().offset, Severity::kDamage});
    return {};
  }
  quant_info_ = *std::move(records);
  has_quant_info_ = true;
  const auto odd = std::find_if(
      quant_info_.begin(), quant_info_.end(), [this](const auto& record) {
        return record.tensor_index >= tensor_count_ ||
               Tensor(record.tensor_index).dtype != record.method;
      });
  if (odd == quant_info_.end()) return {};
  Warn({fmt::format(
            "QuantInfo: record {} is of tensor {} as {}, but no tensor is",
            odd - quant_info_.begin(), odd->tensor_index,
            McfDTypeName(odd->method)),
        section.offset});
  return {};
}

std::vector<Error> McfContainer::Inspect(const ReadContext& /*context*/) const {
  std::vector<Error> faults = Faults();
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    if (TensorFault(i)) continue;  // reading the tensor reports it
    const McfTensor tensor = Tensor(i);
    std::optional<Error> misfit;
    if (IsMcfQuantised(tensor.dtype)) {
      const Result<McfQuantLayout> layout = QuantLayout(tensor);
      if (!layout) misfit = layout.error();
    } else if (McfPlainDType(tensor.dtype)) {
      const Status plain = CheckPlain(tensor);
      if (!plain) misfit = plain.error();
    }
    if (!misfit) continue;
    faults.push_back({misfit->code, Label(i) + ": " + misfit->what,
                      entries_at_ + McfTensor::kSize * i});
  }
  return faults;
}

Status McfContainer::CheckValues(const ReadContext& context) const {
  uint32_t missing = 0;
  uint32_t first = 0;
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    CTXFS_TRY(CheckAt(context, i));
    const std::optional<ArrayInfo> array = ArrayOf(i);
    if (array && !array->widened) continue;
    if (missing++ == 0) first = i;
  }
  if (missing == 0) return {};
  return Error{
      Code::kUnsupported,
      fmt::format("{} of {} tensors have no values; the first is {}: {}",
                  missing, tensor_count_, Label(first),
                  DescribeTensor(first).note),
      entries_at_ + McfTensor::kSize * first};
}

void McfContainer::AddInfo(Json& info, const ReadContext& context) const {
  Json warnings = WarningTexts();
  if (const Status values = CheckValues(context); !values) {
    warnings.push_back(values.error().Text());
  }
  uint64_t stored = 0;
  uint64_t unreadable = 0;
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    if (std::optional<Error> fault = TensorFault(i)) {
      if (++unreadable <= kFaultsShown) warnings.push_back(fault->Text());
      continue;
    }
    stored += Tensor(i).data_size;
  }
  info.update({{"format", "mcf"},
               {"version", header_.major},
               {"minor_version", header_.minor},
               {"flags", header_.flags},
               {"header_size", header_.header_size},
               {"section_dir_offset", header_.section_dir_offset},
               {"sections", Json::array()},
               {"entries", tensor_count_},
               {"entries_unreadable", unreadable},
               {"tensor_index_flags", tensor_flags_},
               {"stored_size", stored},
               {"decoded_size", stored},
               {"salvaged", options_.salvage},
               {"warnings", std::move(warnings)}});
  for (const McfSection& section : sections_) {
    info["sections"].push_back({{"type", section.type},
                                {"name", McfSectionName(section.type)},
                                {"version", section.version},
                                {"offset", section.offset},
                                {"size", section.size}});
  }
}

Status McfContainer::CheckPlain(const McfTensor& tensor) const {
  const std::optional<DType> dtype = McfPlainDType(tensor.dtype);
  if (!dtype) {
    return Error{Code::kCorrupt, "its element type is unknown: bytes only"};
  }
  const std::optional<uint64_t> elements = McfElements(Shape(tensor));
  const std::optional<uint64_t> want =
      elements ? CheckedMul(*elements, DTypeSize(*dtype)) : std::nullopt;
  if (want == tensor.data_size) return {};
  return Error{Code::kCorrupt,
               fmt::format("its {} bytes are not the {} that its type and "
                           "shape need: bytes only",
                           tensor.data_size,
                           want ? std::to_string(*want) : "more than 2^64")};
}

Result<McfQuantLayout> McfContainer::QuantLayout(
    const McfTensor& tensor) const {
  return McfLayoutOf(tensor.dtype, Shape(tensor), tensor.data_size);
}

EntryInfo McfContainer::DescribeTensor(uint32_t entry) const {
  const McfTensor tensor = Tensor(entry);
  EntryInfo info;
  info.name = TensorName(entry);
  info.kind = "tensor";
  info.size = TensorSize(entry);
  info.stored_size = tensor.data_size;
  info.offset = tensor.data_offset;
  info.verified = "none";
  info.dtype = McfDTypeName(tensor.dtype);
  info.shape = Shape(tensor);
  info.extra["dtype_code"] = tensor.dtype;
  if (const std::optional<Error> fault = TensorFault(entry)) {
    info.note = fault->what;
  } else if (IsMcfQuantised(tensor.dtype)) {
    const Result<McfQuantLayout> layout = QuantLayout(tensor);
    if (!layout) {
      info.note = layout.error().what + ": bytes only";
    } else if (layout->kind == McfQuantLayout::Kind::kCodesOnly) {
      info.note = tensor.dtype == kMcfInt4
                      ? "codes without their scale, each stored as code + 8: "
                        "the values are lost"
                      : "codes without their scale: the values are lost";
    } else {
      info.note = "quantised: its values are in views/dequantized/";
    }
  } else if (const Status plain = CheckPlain(tensor); !plain) {
    info.note = plain.error().what;
  }
  if (info.note.empty() && !LiesInTensorData(tensor)) {
    info.note = "it is outside the TensorData section";
  }
  return info;
}

}  // namespace ctxfs::mcf
