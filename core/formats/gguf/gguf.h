// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/interfaces/has_hub_names.h"
#include "core/container/interfaces/has_parts.h"
#include "core/container/tensor_container.h"
#include "core/formats/gguf/header.h"

namespace ctxfs::gguf {

/// A GGUF file, or the files of a split model. The entries are the tensors.
class GgufContainer final : public TensorContainer,
                            public SaysFacts,
                            public HasParts,
                            public HasHubNames {
 public:
  GgufContainer(std::shared_ptr<const Source> source,
                const OpenOptions& options)
      : TensorContainer(std::move(source)), options_(options) {}

  /// Reads and checks the headers, but no tensor. Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Tables Files() const override;
  Exports Export() const override;
  Json Metadata(const Request& request) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  const Source* FileOf(uint32_t tensor) const override {
    return At(tensor).part.source.get();
  }
  std::vector<std::string> PartsBeside(
      const ReadContext& context) const override;
  std::optional<NamesOnHub> FindHubNames(
      const ReadContext& context) const override;

  uint32_t count() const override { return count_; }
  std::string_view TensorName(uint32_t tensor) const override;
  uint64_t TensorSize(uint32_t tensor) const override;
  std::optional<Error> TensorFault(uint32_t tensor) const override;
  Result<Content> OpenTensor(uint32_t tensor,
                             const Request& request) const override;
  EntryInfo DescribeTensor(uint32_t tensor) const override;
  std::optional<ArrayInfo> ArrayOf(uint32_t tensor) const override;
  std::optional<uint64_t> ValueBytes(uint32_t tensor) const override;
  Result<Content> OpenValues(uint32_t tensor) const override;
  EntryInfo DescribeValues(uint32_t tensor) const override;

 private:
  /// A file of the model; the first contains the metadata.
  struct Part {
    std::shared_ptr<const Source> source;
    std::shared_ptr<const GgufHeader> header;
    std::string file;    // its name; empty for a model of one file
    uint32_t first = 0;  // number of its first tensor in the model
  };
  struct Place {
    const Part& part;
    const GgufTensor& tensor;
    uint32_t number;  // in the part
  };

  /// Adds the faults and warnings of all parts, in order, to the container's
  /// warnings.
  Status WarnOfParts(const ReadContext& context);
  Status WarnOfBytesAfter(const Part& part, const ReadContext& context);

  // Defined in split.cc.
  Status LoadParts(const ReadContext& context);
  Status LoadPart(const std::string& file, int64_t number, int64_t count,
                  const ReadContext& context);
  void AddPart(Part part);
  Status CheckSplit(const Request& request);
  void WarnOfSplit(std::string what, Severity severity);

  const GgufHeader& header() const { return *parts_.front().header; }
  Place At(uint32_t tensor) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  std::vector<Part> parts_;
  uint32_t count_ = 0;
  std::vector<Warning> split_warnings_;
  Tables tokenizer_;  // the files of views/tokenizer/
};

}  // namespace ctxfs::gguf
