// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/interfaces/has_parts.h"
#include "core/container/tensor_container.h"
#include "core/formats/safetensors/index_json.h"
#include "core/formats/safetensors/safetensors.h"

namespace ctxfs::safetensors {

/// A model in several safetensors files, opened by its index. The entries are
/// the tensors of all files (docs/formats/safetensors.md, section 8).
class SafetensorsIndexContainer final : public TensorContainer,
                                        public SaysFacts,
                                        public HasParts {
 public:
  SafetensorsIndexContainer(std::shared_ptr<const Source> source,
                            const OpenOptions& options)
      : TensorContainer(std::move(source)), options_(options) {}

  /// Reads the index and the headers of the shards. Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Tables Files() const override;
  std::vector<std::string> PartsBeside(
      const ReadContext& context) const override;
  Exports Export() const override;
  Json Metadata(const Request& request) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  const Source* FileOf(uint32_t item) const override;

  uint32_t count() const override {
    return static_cast<uint32_t>(items_.size());
  }
  std::string_view TensorName(uint32_t item) const override;
  uint64_t TensorSize(uint32_t item) const override;
  std::optional<Error> TensorFault(uint32_t item) const override;
  Result<Content> OpenTensor(uint32_t item,
                             const Request& request) const override;
  EntryInfo DescribeTensor(uint32_t item) const override;
  std::optional<ArrayInfo> ArrayOf(uint32_t item) const override;

 private:
  /// A file in weight_map: a container, or the reason why there is none.
  struct Shard {
    std::shared_ptr<const SafetensorsContainer> container;
    std::string fault;  // empty if there is a container
  };
  /// An entry of the model. Listed tensors come first, in weight_map order.
  struct Item {
    uint32_t shard = 0;
    uint32_t tensor = kNoTensor;  // of the shard
  };
  static constexpr uint32_t kNoTensor = UINT32_MAX;

  Status ReadIndex(const ReadContext& context);
  Status OpenShards(const ReadContext& context);
  Result<Shard> OpenShard(const std::string& file, const ReadContext& context);
  Status FindTensors(const ReadContext& context);
  Status AddUnlisted(const ReadContext& context);
  void WarnOf(std::string what, Severity severity);

  std::string Label(uint32_t item) const;

  const OpenOptions options_;
  SafetensorsIndexJson index_;
  std::vector<Shard> shards_;
  std::vector<Item> items_;
  std::vector<Document> documents_;  // model files in the same folder
  uint64_t further_warnings_ = 0;
};

}  // namespace ctxfs::safetensors
