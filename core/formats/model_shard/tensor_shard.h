// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/formats/model_shard/tensor_v1.h"
#include "core/formats/shard/shard.h"

namespace ctxfs {

/// A Shard container whose entries may be tensors. Which are is told by their
/// content, when someone asks (docs/model_shard.md, section 3): the container
/// knows no more of an entry than its index.
class TensorShard : public ShardContainer {
 public:
  using ShardContainer::ShardContainer;

  Json Info(const ReadContext& context) const override;
  EntryInfo Describe(uint32_t entry) const override;
  Tables Files() const override;
  Exports Export() const override;

  /// Whether the entry's name and size allow it to be a tensor.
  bool MayBeTensor(uint32_t entry) const;
  /// Whether listings take an entry for a tensor without a look: its header is
  /// behind a codec, and its content type says so.
  bool BelievedTensor(uint32_t entry) const;
  /// Whether the header takes no more than a small read.
  bool HeaderIsCheap(uint32_t entry) const;

  /// The header, read anew at each call: unverified, but no byte of the data is
  /// served before the whole entry is. kCorrupt for what is no tensor.
  Result<TensorHeader> Header(uint32_t entry, const ReadContext& context) const;

  /// The entry's elements, without the header, behind the entry's checksum.
  Result<Content> OpenTensor(uint32_t entry, const ReadContext& context) const;

  /// What is said of tensors/NAME.
  EntryInfo DescribeTensor(uint32_t entry) const;

 protected:
  /// The arrays that views are made of; incomplete if interrupted.
  virtual std::vector<ArrayInfo> Arrays(const ReadContext& context) const;
  /// An array called `name` of what `entry` holds.
  ArrayInfo TensorArray(std::string name, uint32_t entry,
                        const TensorHeader& header) const;

 private:
  /// The first bytes of an entry, as many as a header needs; nothing where only
  /// decoding the entry would tell.
  Result<std::optional<Buffer>> Head(uint32_t entry) const;
  /// Header() for those who must not decode; nothing where that takes more.
  std::optional<Result<TensorHeader>> CheapHeader(uint32_t entry) const;
  Result<TensorHeader> Parse(uint32_t entry, Bytes head) const;
};

/// Whether a writer of models keeps `name` for itself: "__metadata__".
bool IsReservedName(std::string_view name);

}  // namespace ctxfs
