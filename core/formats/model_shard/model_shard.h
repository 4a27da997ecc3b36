// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/container/exports.h"
#include "core/formats/model_shard/delta.h"
#include "core/formats/model_shard/tensor_shard.h"

namespace ctxfs {

/// A ModelShard: tensors, int8 tensors with their scales, the model's own
/// metadata (docs/model_shard.md).
class ModelShard : public TensorShard {
 public:
  using TensorShard::TensorShard;

  Status Load(const ReadContext& context) override;
  Tables Files() const override;
  std::vector<ChildContainer> Children() const override;
  Exports Export() const override;
  Json Info(const ReadContext& context) const override;

  /// The entry that by its name holds the scales of `entry`.
  std::optional<uint32_t> ScalesOf(uint32_t entry) const;

 private:
  /// An entry that is a file that from_pretrained reads.
  struct ModelFileEntry {
    DocumentRole role;
    uint32_t entry;
  };
  struct Merged;

  std::vector<ArrayInfo> Arrays(const ReadContext& context) const override;
  void FindScales();
  void FindDocuments();
  bool HasConfig() const;
  /// See Exports::weights: every entry that is a tensor, int8 ones with scales
  /// as their values, and bases of deltas merged (weights.cc).
  Result<std::vector<ArrayInfo>> Weights(const ReadContext& context) const;
  /// Whether Weights decrypts nothing and reads few headers.
  bool WeightsAreCheap() const;
  /// Which entries deltas make weights of, and which they use up.
  Result<Merged> FindMerged(const ReadContext& context) const;
  /// The entry as a weight of the same name; nullopt if it is not a tensor.
  Result<std::optional<ArrayInfo>> Weight(
      uint32_t entry, const std::shared_ptr<const FileTable>& dequantized,
      const ReadContext& context) const;
  /// Whether an entry is to be looked at for a graph: its bytes are there as
  /// they are, and it does not say it is a tensor.
  bool MayBeGraph(uint32_t entry) const;
  /// The verified bytes of an entry that is a graph.
  Result<std::shared_ptr<const Source>> OpenGraph(
      uint32_t entry, const ReadContext& context) const;

  std::optional<uint32_t> metadata_;  // the entry `__metadata__`
  std::vector<ModelFileEntry> documents_;
  Deltas deltas_;
  // A tensor and its scales, by name alone; in the order of the tensors.
  std::vector<std::pair<uint32_t, uint32_t>> scales_;
};

/// dequantized/NAME of `shard` (docs/model_shard.md, section 4).
std::shared_ptr<const FileTable> DequantizedTensors(
    std::shared_ptr<const ModelShard> shard);

/// What dequantized/NAME is: kCorrupt where the scales do not fit.
struct Dequantized {
  std::vector<uint64_t> shape;
  uint64_t size = 0;  // bytes of float32
};
Result<Dequantized> ExamineDequantized(const ModelShard& shard, uint32_t entry,
                                       const ReadContext& context);

}  // namespace ctxfs
