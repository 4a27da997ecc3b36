// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/tensor_container.h"
#include "core/formats/mcf/quantisation.h"

namespace ctxfs::mcf {

/// The header (docs/formats/mcf.md, section 2). Sizes are in bytes; offsets are
/// positions in the file.
struct McfHeader {
  uint16_t major = 0;
  uint16_t minor = 0;
  uint32_t header_size = 0;
  uint32_t section_count = 0;
  uint64_t section_dir_offset = 0;
  uint64_t file_size = 0;
  uint64_t flags = 0;
};

/// A directory record (docs/formats/mcf.md, section 3).
struct McfSection {
  uint32_t type = 0;
  uint32_t version = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

enum McfSectionType : uint32_t {
  kMcfModelInfo = 0x0001,
  kMcfQuantInfo = 0x0002,
  kMcfTensorIndex = 0x0003,
  kMcfTensorData = 0x0004,
};

/// An entry of the TensorIndex (docs/formats/mcf.md, section 4).
struct McfTensor {
  static constexpr uint64_t kSize = 40;  // bytes of its record

  uint32_t name_offset = 0;
  uint32_t name_length = 0;
  uint32_t dtype = 0;
  uint32_t rank = 0;
  uint32_t dim_offset = 0;  // number of dims before its first
  uint64_t data_offset = 0;
  uint64_t data_size = 0;
};

/// Returns "ModelInfo", ...; "Section0x0200" for an unnamed type.
std::string McfSectionName(uint32_t type);

/// Parses a ModelInfo section (docs/formats/mcf.md, section 9). Fails with
/// kCorrupt or kLimit; error offsets are relative to the section.
Result<Json> ParseMcfModelInfo(Bytes section, const Request& request);

/// A record of QuantInfo about a quantised tensor (section 8).
struct McfQuantRecord {
  uint32_t tensor_index = 0;
  uint8_t method = 0;  // a dtype code
  uint8_t domain = 0;  // 0 weights, 1 activations
  uint16_t block_size = 0;
  uint16_t super_size = 0;
  float min_clip = 0;
  float max_clip = 0;
};

/// Parses a QuantInfo section. Fails as ParseMcfModelInfo does.
Result<std::vector<McfQuantRecord>> ParseMcfQuantInfo(Bytes section);
Json McfQuantRecordJson(const McfQuantRecord& record);

/// An MCF model. The entries are the tensors.
class McfContainer final : public TensorContainer, public SaysFacts {
 public:
  McfContainer(std::shared_ptr<const Source> source, const OpenOptions& options)
      : TensorContainer(std::move(source)), options_(options) {}

  /// Reads and checks header, section directory, TensorIndex, ModelInfo and
  /// QuantInfo. Reads no tensor. Must be called once, first.
  Status Load(const ReadContext& /*context*/);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Tables Files() const override;
  Exports Export() const override;

  uint32_t count() const override { return tensor_count_; }
  std::string_view TensorName(uint32_t tensor) const override;
  uint64_t TensorSize(uint32_t tensor) const override;
  std::optional<Error> TensorFault(uint32_t tensor) const override;
  Result<Content> OpenTensor(uint32_t tensor,
                             const Request& request) const override;
  EntryInfo DescribeTensor(uint32_t tensor) const override;
  std::optional<ArrayInfo> ArrayOf(uint32_t tensor) const override;
  std::optional<uint64_t> ValueBytes(uint32_t tensor) const override;
  Result<Content> OpenValues(uint32_t tensor) const override;

 private:
  std::shared_ptr<const FileTable> SectionFiles() const;
  using Text =
      Result<std::string> (McfContainer::*)(const ReadContext& context) const;

  /// Steps of Load, in order; the first failure refuses the container.
  Status ReadHeader(const Request& request);
  Status ReadDirectory(const Request& request);

  /// Returns `error`; with salvage, adds a warning instead and succeeds.
  Status Fault(Error error);
  Status CheckSection(uint32_t index, const McfSection& section) const;
  /// Returns the first section of a type; null if there is none.
  const McfSection* Find(uint32_t type) const;

  /// Reads and checks the TensorIndex. After a failure, no tensor can be shown.
  Status ReadTensorIndex(const McfSection& section, const Request& request);
  /// The number of dims, and of bytes of names, up to the last one that a
  /// tensor uses.
  struct Used {
    uint64_t dims = 0;
    uint64_t names = 0;
  };
  Result<Used> CheckTensors(uint64_t dims_count, uint64_t strings_size) const;
  bool LiesInTensorData(const McfTensor& tensor) const;
  void NoteTensorsOutsideData();
  Status ReadModelInfo(const McfSection& section, const Request& request);
  Status ReadQuantInfo(const McfSection& section, const Request& request);

  McfTensor Tensor(uint32_t tensor) const;
  std::vector<uint64_t> Shape(const McfTensor& tensor) const;
  std::string Label(uint32_t entry) const;
  /// QuantLayout returns the layout of a quantised tensor. CheckPlain succeeds
  /// if a plain tensor has the size that its type and shape require. The error
  /// of either is the reason why the tensor has no values.
  Result<McfQuantLayout> QuantLayout(const McfTensor& tensor) const;
  Status CheckPlain(const McfTensor& tensor) const;
  /// Fails if tensors have no values. The error has the number of these
  /// tensors, and the reason for the first of them.
  Status CheckValues(const ReadContext& context) const;
  Result<Content> OpenCodes(uint32_t entry, const Request& request) const;
  Content OpenSection(const McfSection& section) const;
  std::vector<Document> Documents() const;
  std::shared_ptr<const FileTable> TextFile(const char* path, uint64_t number,
                                            Text text) const;
  /// Returns the number of bytes from which documents are rendered.
  uint64_t TextBytes() const {
    uint64_t bytes = entries_.size() + dims_.size() + names_.size();
    if (const McfSection* model = Find(kMcfModelInfo)) bytes += model->size;
    return bytes + quant_info_.size() * sizeof(McfQuantRecord);
  }
  Result<std::string> TensorsJson(const ReadContext& context) const;
  Result<std::string> ModelInfoJson(const ReadContext& context) const;
  Result<std::string> QuantInfoJson(const ReadContext& context) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  McfHeader header_;
  std::vector<McfSection> sections_;
  uint32_t tensor_count_ = 0;
  uint32_t tensor_flags_ = 0;
  uint64_t entries_at_ = 0;  // byte of the file
  Buffer entries_;           // tensor_count_ records, as in the file
  Buffer dims_;              // dims_ and names_: up to the last in use
  Buffer names_;
  std::optional<McfSection> tensor_data_;
  Json model_info_;  // null without a readable ModelInfo
  std::vector<McfQuantRecord> quant_info_;
  bool has_quant_info_ = false;
};

}  // namespace ctxfs::mcf
