// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/formats/model_shard/tensor_v1.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::model_shard {

/// A Shard container whose entries may be tensors. Whether an entry is a tensor
/// depends on its content, which is examined each time that its file is looked
/// up or listed (docs/formats/model_shard.md, section 3).
class TensorShard : public shard::ShardContainer {
 public:
  using shard::ShardContainer::ShardContainer;

  void AddInfo(Json& info, const ReadContext& context) const override;
  EntryInfo Describe(uint32_t entry, const Request& request) const override;
  Tables Files() const override;
  Exports Export() const override;

  /// Whether the entry's name and size allow a tensor.
  bool MayBeTensor(uint32_t entry) const;
  /// Whether listings show an entry as a tensor without examining it: its
  /// content type is tensor, and reading its header requires decoding.
  bool LikelyTensor(uint32_t entry) const;

  /// Reads the header at each call. The header may be unverified, but no data
  /// is served before the whole entry is verified. Fails with kCorrupt if the
  /// entry is not a tensor.
  Result<TensorHeader> Header(uint32_t entry, const ReadContext& context) const;

  /// Opens the elements of a tensor. Reads verify the checksum of the entry.
  Result<Content> OpenTensor(uint32_t entry, const ReadContext& context) const;

  /// Describes views/tensors/NAME.
  EntryInfo DescribeTensor(uint32_t entry, const Request& request) const;

 protected:
  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  /// Returns the arrays for views; incomplete if the request is interrupted.
  /// Omits tensors whose header cannot be read; returns none for more than
  /// limits::kArrayEntries entries.
  virtual std::vector<ArrayInfo> Arrays(const ReadContext& context) const;
  /// Returns the tensor `entry` as an array called `name`.
  ArrayInfo TensorArray(std::string name, uint32_t entry,
                        const TensorHeader& header) const;

 private:
  std::shared_ptr<const FileTable> TensorFiles() const;
  /// Returns enough first bytes of an entry for its header; nullopt if this
  /// requires decoding the whole entry.
  Result<std::optional<Buffer>> Head(uint32_t entry,
                                     const Request& request) const;
  /// Fails if Arrays omits an entry whose content type is tensor.
  Status CheckTensors(const ReadContext& context) const;
  Status CheckTensor(uint32_t entry, const ReadContext& context) const;
  /// Like Header(), but never decodes the whole entry; nullopt if that would be
  /// necessary.
  std::optional<Result<TensorHeader>> CheapHeader(uint32_t entry,
                                                  const Request& request) const;
  Result<TensorHeader> Parse(uint32_t entry, Bytes head) const;
};

/// Whether writers of models reserve `name`, such as "__metadata__".
bool IsReservedName(std::string_view name);

}  // namespace ctxfs::model_shard
