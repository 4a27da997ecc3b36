// SPDX-License-Identifier: Apache-2.0
//
// Builds the files of an MCF model (docs/formats/mcf.md, section 13): tensors/,
// views/dequantized/, .ctxfs/raw/sections/, and documents.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/facts/config_facts.h"
#include "core/container/file_set.h"
#include "core/content/check_at.h"
#include "core/formats/mcf/mcf.h"

namespace ctxfs::mcf {
namespace {

struct SectionType {
  uint32_t type;
  const char* name;
  const char* file = nullptr;                      // name of the copied file
  DocumentRole role = DocumentRole::kDescription;  // of the copied file
};

constexpr std::array<SectionType, 10> kSectionTypes = {
    {{kMcfModelInfo, "ModelInfo"},
     {kMcfQuantInfo, "QuantInfo"},
     {kMcfTensorIndex, "TensorIndex"},
     {kMcfTensorData, "TensorData"},
     {0x0100, "HFConfigJSON", "config.json", DocumentRole::kConfig},
     {0x0101, "HFGenerationConfigJSON", "generation_config.json",
      DocumentRole::kGenerationConfig},
     {0x0102, "TokenizerJSON", "tokenizer.json", DocumentRole::kTokenizer},
     {0x0103, "TokenizerConfigJSON", "tokenizer_config.json",
      DocumentRole::kTokenizerConfig},
     {0x0104, "VocabJSON", "vocab.json", DocumentRole::kVocabulary},
     {0x0105, "MergesTXT", "merges.txt", DocumentRole::kMerges}}};

// Cache keys of the documents.
constexpr uint64_t kModelInfoText = 0;
constexpr uint64_t kQuantInfoText = 1;
constexpr uint64_t kTensorsText = 2;

// Upper bound of a dimension's JSON, bytes.
constexpr uint64_t kMaxNumber = 21;

std::string HexNumber(uint32_t number) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%04x", number);
  return text;
}

EntryInfo DescribeSection(const McfSection& section) {
  EntryInfo info;
  info.kind = "section";
  info.size = section.size;
  info.stored_size = section.size;
  info.offset = section.offset;
  info.verified = "none";
  info.content_type =
      HexNumber(section.type) + " " + McfSectionName(section.type);
  return info;
}

}  // namespace

std::string McfSectionName(uint32_t type) {
  const auto known = std::ranges::find(kSectionTypes, type, &SectionType::type);
  if (known != kSectionTypes.end()) return known->name;
  return "Section" + HexNumber(type);
}

/// Returns the files .ctxfs/raw/sections/0xNNNN.bin: the stored bytes of each
/// section.
std::shared_ptr<const FileTable> McfContainer::SectionFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kRaw, .directory = "sections"},
       .count = static_cast<uint32_t>(sections_.size()),
       .path = [this](uint32_t section,
                      std::string& scratch) -> std::string_view {
         scratch = HexNumber(sections_[section].type);
         return scratch += ".bin";
       },
       .open = [this](uint32_t section, const ReadContext& /*context*/)
           -> Result<Content> { return OpenSection(sections_[section]); },
       .facts =
           [this](uint32_t section) {
             return FileFacts{sections_[section].size};
           },
       .describe =
           [this](uint32_t section, const ReadContext& /*context*/) {
             return DescribeSection(sections_[section]);
           },
       .owner = Share(*this)});
}

std::optional<uint64_t> McfContainer::ValueBytes(uint32_t entry) const {
  if (TensorFault(entry)) return std::nullopt;
  const McfTensor record = Tensor(entry);
  if (!IsMcfQuantised(record.dtype)) return std::nullopt;
  const Result<McfQuantLayout> layout = QuantLayout(record);
  if (!layout || layout->kind == McfQuantLayout::Kind::kCodesOnly) {
    return std::nullopt;
  }
  return layout->value_bytes();
}

Result<Content> McfContainer::OpenValues(uint32_t entry) const {
  const McfTensor tensor = Tensor(entry);
  const McfQuantLayout layout = CTXFS_TRY(QuantLayout(tensor));
  return Content(Computed{McfValues(source(), tensor.data_offset, layout)},
                 layout.value_bytes());
}

Result<Content> McfContainer::OpenCodes(uint32_t entry,
                                        const Request& request) const {
  const McfTensor tensor = Tensor(entry);
  if (tensor.dtype != kMcfInt4) return OpenTensor(entry, request);
  const McfQuantLayout layout = CTXFS_TRY(QuantLayout(tensor));
  return Content(Computed{McfNibbles(source(), tensor.data_offset)},
                 layout.elements());
}

Content McfContainer::OpenSection(const McfSection& section) const {
  return {Range{source(), section.offset, nullptr}, section.size};
}

std::vector<Document> McfContainer::Documents() const {
  std::vector<Document> documents;
  for (const SectionType& known : kSectionTypes) {
    const McfSection* section = known.file ? Find(known.type) : nullptr;
    if (section == nullptr) continue;
    documents.push_back({known.role, FixedFile(Role::kPrimary, known.file,
                                               OpenSection(*section),
                                               DescribeSection(*section))});
  }
  if (!model_info_.is_null()) {
    documents.push_back(
        {DocumentRole::kDescription, TextFile("model_info.json", kModelInfoText,
                                              &McfContainer::ModelInfoJson)});
  }
  return documents;
}

std::shared_ptr<const FileTable> McfContainer::TextFile(const char* path,
                                                        uint64_t number,
                                                        Text text) const {
  return TextDocument(
      Role::kPrimary, path, {owner_, number}, source(),
      [self = Share(*this), text](const ReadContext& context) {
        return ((*self).*text)(context);
      },
      TextCost(TextBytes()));
}

Container::Tables McfContainer::Files() const {
  Tables files = {TensorFiles()};
  for (Document& document : Documents()) {
    files.push_back(std::move(document.table));
  }
  if (has_quant_info_) {
    files.push_back(TextFile("quant_info.json", kQuantInfoText,
                             &McfContainer::QuantInfoJson));
  }
  if (tensor_count_ > 0) {
    files.push_back(
        TextFile("tensors.json", kTensorsText, &McfContainer::TensorsJson));
  }
  files.push_back(SectionFiles());
  files.push_back(ValueFiles());
  return files;
}

Status McfContainer::AddFacts(const ReadContext& context, Facts& facts) const {
  AddNamed(model_info_,
           {{"name", "name"},
            {"name", "model_name"},
            {"architecture", "architecture"},
            {"license", "license"},
            {"base_model", "base_model"}},
           facts);
  CTXFS_TRY(AddParameters(*Entries(), context, facts));
  CTXFS_TRY(AddModelFacts(Documents(), context, facts));
  facts.AddMembers("metadata.", model_info_);
  return {};
}

Exports McfContainer::Export() const {
  Exports exports = TensorExports();
  if (exports.arrays == nullptr) return exports;
  exports.bundle_name = "model";
  exports.complete = [self = Share(*this)](const ReadContext& context) {
    return self->CheckValues(context);
  };
  exports.weights =
      [self = Share(*this), all = exports.arrays](
          const ReadContext& context) -> Result<std::vector<ArrayInfo>> {
    CTXFS_TRY(self->CheckValues(context));
    return all(context);
  };
  exports.documents = Documents();
  return exports;
}

std::optional<ArrayInfo> McfContainer::ArrayOf(uint32_t entry) const {
  if (TensorFault(entry)) return std::nullopt;
  const McfTensor tensor = Tensor(entry);
  ArrayInfo array;
  array.name = TensorName(entry);
  array.shape = Shape(tensor);
  if (const std::optional<DType> plain = McfPlainDType(tensor.dtype)) {
    if (!CheckPlain(tensor)) return std::nullopt;
    array.dtype = *plain;
    array.open = [self = Share(*this), entry](const ReadContext& context) {
      return self->OpenTensor(entry, context);
    };
    return array;
  }
  if (!IsMcfQuantised(tensor.dtype)) return std::nullopt;
  const Result<McfQuantLayout> layout = QuantLayout(tensor);
  if (!layout) return std::nullopt;
  const bool codes = layout->kind == McfQuantLayout::Kind::kCodesOnly;
  array.dtype = codes ? DType::kI8 : DType::kF32;
  // Readers of safetensors would take codes without a scale for values.
  // `widened` omits the codes there, as it omits widened elements.
  array.widened = codes;
  array.open = [self = Share(*this), entry, codes](const ReadContext& context) {
    return codes ? self->OpenCodes(entry, context) : self->OpenValues(entry);
  };
  return array;
}

Result<std::string> McfContainer::TensorsJson(
    const ReadContext& context) const {
  std::string text = fmt::format("{{\"count\":{},\"flags\":{},\"tensors\":[",
                                 tensor_count_, tensor_flags_);
  for (uint32_t i = 0; i < tensor_count_; ++i) {
    const McfTensor tensor = Tensor(i);
    CTXFS_TRY(CheckAt(context, i));
    CTXFS_TRY(AdmitGrowth(text, kMaxNumber * tensor.rank));
    const std::string name(TensorName(i));
    Json object = {{"index", i},
                   {"name", name},
                   {"dtype", McfDTypeName(tensor.dtype)},
                   {"dtype_code", tensor.dtype},
                   {"shape", Shape(tensor)},
                   {"offset", tensor.data_offset},
                   {"size", tensor.data_size}};
    if (!IsUtf8(name)) object["name_hex"] = Hex(name);
    CTXFS_TRY(AppendAdmitted(text, i == 0 ? "\n" : ",\n"));
    CTXFS_TRY(AppendAdmitted(text, JsonLine(object)));
  }
  CTXFS_TRY(AppendAdmitted(text, "\n]}\n"));
  return text;
}

Result<std::string> McfContainer::ModelInfoJson(
    const ReadContext& /*context*/) const {
  return FormatJson(model_info_);
}

Result<std::string> McfContainer::QuantInfoJson(
    const ReadContext& context) const {
  std::string text = "{\"records\":[";
  for (size_t i = 0; i < quant_info_.size(); ++i) {
    CTXFS_TRY(CheckAt(context, i));
    CTXFS_TRY(AppendAdmitted(text, i == 0 ? "\n" : ",\n"));
    CTXFS_TRY(
        AppendAdmitted(text, JsonLine(McfQuantRecordJson(quant_info_[i]))));
  }
  CTXFS_TRY(AppendAdmitted(text, "\n]}\n"));
  return text;
}

}  // namespace ctxfs::mcf
