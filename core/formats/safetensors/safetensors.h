// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/container/tensor_container.h"
#include "core/formats/safetensors/header.h"

namespace ctxfs::safetensors {

/// A safetensors file. Its entries are the tensors.
class SafetensorsContainer final : public TensorContainer, public SaysFacts {
 public:
  SafetensorsContainer(std::shared_ptr<const Source> source,
                       const OpenOptions& options)
      : TensorContainer(std::move(source)), options_(options) {}

  /// Whether `head` starts a safetensors file (docs/formats/safetensors.md,
  /// section 5).
  static bool Recognises(Bytes head);

  /// Reads and checks the header; reads no tensor. Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Tables Files() const override;
  Exports Export() const override;
  Json Metadata(const Request& request) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;

  const SafetensorsHeader& header() const { return header_; }
  uint32_t count() const override {
    return static_cast<uint32_t>(header_.tensors.size());
  }
  std::string_view TensorName(uint32_t tensor) const override {
    return header_.names[tensor];
  }
  uint64_t TensorSize(uint32_t tensor) const override;
  std::optional<Error> TensorFault(uint32_t tensor) const override;
  Result<Content> OpenTensor(uint32_t tensor,
                             const Request& request) const override;
  EntryInfo DescribeTensor(uint32_t tensor) const override;
  std::optional<ArrayInfo> ArrayOf(uint32_t tensor) const override;
  bool IsArray(uint32_t tensor) const override;

 private:
  uint64_t data_at() const { return kLengthBytes + header_size_; }
  uint64_t data_size() const { return source()->size() - data_at(); }
  /// Returns the bytes of the `__metadata__` object.
  std::optional<Content> MetadataText() const;
  void WarnOf(const SafetensorsFaults& faults);
  /// Calls Need with the end of every tensor whose range does not contradict
  /// its shape.
  void NeedTensors();

  static constexpr uint64_t kLengthBytes = 8;

  const OpenOptions options_;
  uint64_t header_size_ = 0;
  SafetensorsHeader header_;
  std::vector<Document> documents_;  // of a complete model
};

}  // namespace ctxfs::safetensors
