// SPDX-License-Identifier: Apache-2.0
//
// What an MCF container says of itself and its tensors, and the files that it
// shows besides them (docs/mcf.md, section 13).
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/formats/mcf/mcf.h"

namespace ctxfs {

namespace {

// Of a million faults the first hundred tell enough.
constexpr size_t kFaultsShown = 100;

constexpr std::array<std::pair<uint32_t, DType>, 12> kPlainTypes = {
    {{1, DType::kF32},
     {2, DType::kF16},
     {3, DType::kBf16},
     {4, DType::kF64},
     {5, DType::kI8},
     {6, DType::kU8},
     {7, DType::kI16},
     {8, DType::kU16},
     {9, DType::kI32},
     {10, DType::kU32},
     {11, DType::kI64},
     {12, DType::kU64}}};

constexpr std::array<std::pair<uint32_t, const char*>, 9> kOtherTypes = {
    {{0, "unknown"},
     {0x10, "int8"},
     {0x11, "int4"},
     {0x20, "q8"},
     {0x21, "q4"},
     {0x30, "k6"},
     {0x31, "k4"},
     {0x32, "k3"},
     {0x33, "k2"}}};

struct SectionType {
  uint32_t type;
  const char* name;
  const char* file;  // of the model, its bytes as they were; null for none
};

constexpr std::array<SectionType, 10> kSectionTypes = {
    {{kMcfModelInfo, "ModelInfo", nullptr},
     {kMcfQuantInfo, "QuantInfo", nullptr},
     {kMcfTensorIndex, "TensorIndex", nullptr},
     {kMcfTensorData, "TensorData", nullptr},
     {0x0100, "HFConfigJSON", "config.json"},
     {0x0101, "HFGenerationConfigJSON", "generation_config.json"},
     {0x0102, "TokenizerJSON", "tokenizer.json"},
     {0x0103, "TokenizerConfigJSON", "tokenizer_config.json"},
     {0x0104, "VocabJSON", "vocab.json"},
     {0x0105, "MergesTXT", "merges.txt"}}};

constexpr uint32_t kInt4 = 0x11;

std::string HexNumber(uint32_t number) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%04x", number);
  return text;
}

std::string SectionName(uint32_t type) {
  for (const SectionType& known : kSectionTypes) {
    if (known.type == type) return known.name;
  }
  return "Section" + HexNumber(type);
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string McfDTypeName(uint32_t code) {
  if (const std::optional<DType> plain = McfPlainDType(code)) {
    return std::string(DTypeName(*plain));
  }
  for (const auto& [other, name] : kOtherTypes) {
    if (other == code) return name;
  }
  return "dtype_" + std::to_string(code);
}

std::optional<DType> McfPlainDType(uint32_t code) {
  for (const auto& [plain, dtype] : kPlainTypes) {
    if (plain == code) return dtype;
  }
  return std::nullopt;
}

/// A JSON file that is made when it is read.
class McfContainer::TextBlock final : public Block {
 public:
  using Text = std::string (McfContainer::*)() const;

  TextBlock(Key key, std::shared_ptr<const McfContainer> container, Text text)
      : Block(key), container_(std::move(container)), text_(text) {}

  uint64_t cost() const override { return 0; }  // not known before it is made

  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    const std::string text = (*container_.*text_)();
    Buffer buffer(text.size());
    std::memcpy(buffer.data(), text.data(), text.size());
    return buffer;
  }

 private:
  std::shared_ptr<const McfContainer> container_;
  Text text_;
};

Status McfContainer::ReadModelInfo(const McfSection& section) {
  const uint64_t most = limits::kMcfModelInfoBytes;
  Result<Buffer> bytes = ReadBuffer(*source(), section.offset,
                                    std::min(section.size, most), "ModelInfo");
  if (!bytes) return std::move(bytes).error();
  Result<Json> info = ParseMcfModelInfo(bytes->span());
  if (info) {
    model_info_ = *std::move(info);
  } else {
    warnings_.push_back(
        {"ModelInfo, so no model_info.json: " + info.error().what,
         section.offset + info.error().offset, /*damage=*/true});
  }
  return {};
}

Status McfContainer::ReadQuantInfo(const McfSection& section) {
  // One record a tensor is what there can be, and some bytes that follow.
  constexpr uint64_t kMost = 32 * uint64_t{limits::kMcfTensors};
  Result<Buffer> bytes = ReadBuffer(*source(), section.offset,
                                    std::min(section.size, kMost), "QuantInfo");
  if (!bytes) return std::move(bytes).error();
  Result<std::vector<McfQuantRecord>> records =
      ParseMcfQuantInfo(bytes->span());
  if (!records) {
    warnings_.push_back(
        {"QuantInfo, so no quant_info.json: " + records.error().what,
         section.offset + records.error().offset, /*damage=*/true});
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
  warnings_.push_back(
      {"QuantInfo: record " + std::to_string(odd - quant_info_.begin()) +
           " is of tensor " + std::to_string(odd->tensor_index) + " as " +
           McfDTypeName(odd->method) + ", which there is not",
       section.offset});
  return {};
}

std::vector<Error> McfContainer::Inspect(const ReadContext& /*context*/) const {
  std::vector<Error> faults = DamageIn(warnings_);
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    if (EntryFault(i)) continue;  // who reads it sees it
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

Json McfContainer::Info(const ReadContext& /*context*/) const {
  std::vector<Warning> warnings = warnings_;
  uint64_t stored = 0;
  uint64_t unreadable = 0;
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    if (std::optional<Error> fault = EntryFault(i)) {
      if (++unreadable <= kFaultsShown) {
        warnings.push_back({std::move(fault->what), fault->offset});
      }
      continue;
    }
    stored += Tensor(i).data_size;
  }
  Json info = {{"format", "mcf"},
               {"version", header_.major},
               {"minor_version", header_.minor},
               {"flags", header_.flags},
               {"header_size", header_.header_size},
               {"section_dir_offset", header_.section_dir_offset},
               {"sections", Json::array()},
               {"entries", tensor_count_},
               {"entries_unreadable", unreadable},
               {"tensor_index_flags", tensor_flags_},
               {"container_size", source()->size()},
               {"stored_size", stored},
               {"decoded_size", stored},
               {"salvaged", options_.salvage},
               {"warnings", Json::array()}};
  for (const McfSection& section : sections_) {
    info["sections"].push_back({{"type", section.type},
                                {"name", SectionName(section.type)},
                                {"version", section.version},
                                {"offset", section.offset},
                                {"size", section.size}});
  }
  for (const Warning& warning : warnings) {
    info["warnings"].push_back(warning.Text());
  }
  return info;
}

Status McfContainer::CheckPlain(const McfTensor& tensor) const {
  const std::optional<DType> dtype = McfPlainDType(tensor.dtype);
  if (!dtype) {
    return Error{Code::kCorrupt, "its element type is not known: bytes only"};
  }
  const std::optional<uint64_t> elements = McfElements(Shape(tensor));
  const std::optional<uint64_t> want =
      elements ? CheckedMul(*elements, DTypeSize(*dtype)) : std::nullopt;
  if (want == tensor.data_size) return {};
  return Error{Code::kCorrupt,
               "its " + std::to_string(tensor.data_size) +
                   " bytes are not the " +
                   (want ? std::to_string(*want) : "more than 2^64") +
                   " that its type and shape need: bytes only"};
}

Result<McfQuantLayout> McfContainer::QuantLayout(
    const McfTensor& tensor) const {
  return McfLayoutOf(tensor.dtype, Shape(tensor), tensor.data_size);
}

EntryInfo McfContainer::Describe(uint32_t entry) const {
  const McfTensor tensor = Tensor(entry);
  EntryInfo info;
  info.name = *EntryName(entry);
  info.kind = "tensor";
  info.size = EntrySize(entry);
  info.stored_size = tensor.data_size;
  info.offset = tensor.data_offset;
  info.verified = "none";
  info.dtype = McfDTypeName(tensor.dtype);
  info.shape = Shape(tensor);
  info.extra["dtype_code"] = tensor.dtype;
  if (const std::optional<Error> fault = EntryFault(entry)) {
    info.note = fault->what;
  } else if (IsMcfQuantised(tensor.dtype)) {
    const Result<McfQuantLayout> layout = QuantLayout(tensor);
    if (!layout) {
      info.note = layout.error().what + ": bytes only";
    } else if (layout->kind == McfQuantLayout::Kind::kCodesOnly) {
      info.note = tensor.dtype == kInt4
                      ? "codes without their scale, each stored as code + 8: "
                        "the values are lost"
                      : "codes without their scale: the values are lost";
    } else {
      info.note = "quantised: its values are in dequantized/";
    }
  } else if (const Status plain = CheckPlain(tensor); !plain) {
    info.note = plain.error().what;
  }
  if (info.note.empty() && !LiesInTensorData(tensor)) {
    info.note = "it lies outside the TensorData section";
  }
  return info;
}

Result<Content> McfContainer::OpenValues(uint32_t entry) const {
  const McfTensor tensor = Tensor(entry);
  const Result<McfQuantLayout> layout = QuantLayout(tensor);
  if (!layout) return layout.error();
  Content content;
  content.Append(Computed{McfValues(source(), tensor.data_offset, *layout), 0},
                 layout->value_bytes());
  return content;
}

Result<Content> McfContainer::OpenCodes(uint32_t entry,
                                        const ReadContext& context) const {
  const McfTensor tensor = Tensor(entry);
  if (tensor.dtype != kInt4) return OpenEntry(entry, context);
  const Result<McfQuantLayout> layout = QuantLayout(tensor);
  if (!layout) return layout.error();
  Content content;
  content.Append(Computed{McfNibbles(source(), tensor.data_offset), 0},
                 layout->elements());
  return content;
}

EntryInfo McfContainer::DescribeValues(uint32_t entry) const {
  EntryInfo info = Describe(entry);
  const Result<McfQuantLayout> layout = QuantLayout(Tensor(entry));
  info.size = layout ? layout->value_bytes() : 0;
  info.codec = std::exchange(info.dtype, std::string(DTypeName(DType::kF32)));
  info.note.clear();
  return info;
}

OwnFile McfContainer::SectionFile(std::string path,
                                  const McfSection& section) const {
  const auto open = [source = source(),
                     section](const ReadContext& /*context*/) {
    Content content;
    content.Append(Range{source, section.offset, nullptr}, section.size);
    return Result<Content>(std::move(content));
  };
  const auto describe = [section] {
    EntryInfo info;
    info.kind = "section";
    info.size = section.size;
    info.stored_size = section.size;
    info.offset = section.offset;
    info.verified = "none";
    info.content_type =
        HexNumber(section.type) + " " + SectionName(section.type);
    return info;
  };
  return {std::move(path), open, false, section.size, describe};
}

OwnFile McfContainer::TextFile(const char* path, uint64_t number,
                               TextBlock::Text text) const {
  auto self = std::static_pointer_cast<const McfContainer>(shared_from_this());
  const Key key{owner_, number};
  return {path,
          [self, key, text](const ReadContext& context) -> Result<Content> {
            auto block = std::make_shared<const TextBlock>(key, self, text);
            Result<BlockCache::Pinned> made = context.Get(*block);
            if (!made) return std::move(made).error();
            Content content;
            content.Append(Decoded{std::move(block), 0}, (*made)->size());
            return content;
          }};
}

std::vector<OwnFile> McfContainer::OwnFiles() const {
  auto self = std::static_pointer_cast<const McfContainer>(shared_from_this());
  std::vector<OwnFile> files;
  for (const SectionType& known : kSectionTypes) {
    const McfSection* section = known.file ? Find(known.type) : nullptr;
    if (section != nullptr) files.push_back(SectionFile(known.file, *section));
  }
  if (!model_info_.is_null()) {
    files.push_back(
        TextFile("model_info.json", 0, &McfContainer::ModelInfoJson));
  }
  if (has_quant_info_) {
    files.push_back(
        TextFile("quant_info.json", 1, &McfContainer::QuantInfoJson));
  }
  if (tensor_count_ > 0) {
    files.push_back(TextFile("tensors.json", 2, &McfContainer::TensorsJson));
  }
  for (const McfSection& section : sections_) {
    files.push_back(
        SectionFile("sections/" + HexNumber(section.type) + ".bin", section));
  }
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    const McfTensor tensor = Tensor(i);
    if (!IsMcfQuantised(tensor.dtype) || EntryFault(i)) continue;
    const Result<McfQuantLayout> layout = QuantLayout(tensor);
    if (!layout || layout->kind == McfQuantLayout::Kind::kCodesOnly) continue;
    files.push_back({"dequantized/" + std::string(*EntryName(i)),
                     [self, i](const ReadContext& /*context*/) {
                       return self->OpenValues(i);
                     },
                     false, layout->value_bytes(),
                     [self, i] { return self->DescribeValues(i); }});
  }
  return files;
}

std::vector<ArrayInfo> McfContainer::Arrays(
    const ReadContext& /*context*/) const {
  auto self = std::static_pointer_cast<const McfContainer>(shared_from_this());
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    if (EntryFault(i)) continue;
    const McfTensor tensor = Tensor(i);
    ArrayInfo array;
    array.name = *EntryName(i);
    array.shape = Shape(tensor);
    if (const std::optional<DType> plain = McfPlainDType(tensor.dtype)) {
      if (!CheckPlain(tensor)) continue;
      array.dtype = *plain;
      array.open = [self, i](const ReadContext& context) {
        return self->OpenEntry(i, context);
      };
    } else if (IsMcfQuantised(tensor.dtype)) {
      const Result<McfQuantLayout> layout = QuantLayout(tensor);
      if (!layout) continue;
      const bool codes = layout->kind == McfQuantLayout::Kind::kCodesOnly;
      array.dtype = codes ? DType::kI8 : DType::kF32;
      array.open = [self, i, codes](const ReadContext& context) {
        return codes ? self->OpenCodes(i, context) : self->OpenValues(i);
      };
    } else {
      continue;
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

std::string McfContainer::TensorsJson() const {
  std::string text = "{\"count\":" + std::to_string(tensor_count_) +
                     ",\"flags\":" + std::to_string(tensor_flags_) +
                     ",\"tensors\":[";
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    const McfTensor tensor = Tensor(i);
    const std::string name(*EntryName(i));
    Json object = {{"index", i},
                   {"name", name},
                   {"dtype", McfDTypeName(tensor.dtype)},
                   {"dtype_code", tensor.dtype},
                   {"shape", Shape(tensor)},
                   {"offset", tensor.data_offset},
                   {"size", tensor.data_size}};
    if (!IsUtf8(name)) object["name_hex"] = Hex(name);
    text += i == 0 ? "\n" : ",\n";
    text += Dump(object);
  }
  return text + "\n]}\n";
}

std::string McfContainer::ModelInfoJson() const {
  return FormatJson(model_info_);
}

std::string McfContainer::QuantInfoJson() const {
  std::string text = "{\"records\":[";
  for (size_t i = 0; i < quant_info_.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    text += Dump(McfQuantRecordJson(quant_info_[i]));
  }
  return text + "\n]}\n";
}

}  // namespace ctxfs
