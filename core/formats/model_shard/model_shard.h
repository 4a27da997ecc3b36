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

namespace ctxfs::model_shard {

/// A ModelShard: tensors, int8 tensors with scales, deltas, and metadata of the
/// model (docs/formats/model_shard.md).
class ModelShard : public TensorShard {
 public:
  using TensorShard::TensorShard;

  Status Load(const ReadContext& context) override;
  Tables Files() const override;
  std::vector<ChildContainer> Children() const override;
  Exports Export() const override;
  void AddInfo(Json& info, const ReadContext& context) const override;

  /// Returns the entry with the scales of `entry`, found by name.
  std::optional<uint32_t> ScalesOf(uint32_t entry) const;

 private:
  struct ModelFileEntry {
    DocumentRole role;
    uint32_t entry;
  };
  struct Merged;

  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override;
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const override;
  void FindGraphs(const ReadContext& context);
  Status FindScales(const ReadContext& context);
  Status FindDocuments(const ReadContext& context);
  bool HasFile(DocumentRole role) const;
  /// Returns the tensors of the model (see Exports::weights; weights.cc): int8
  /// tensors times their scales, and deltas merged into their bases. Omits
  /// entries that are only inputs of other tensors.
  Result<std::vector<ArrayInfo>> Weights(const ReadContext& context) const;
  /// Whether Weights decrypts nothing and reads few headers.
  bool WeightsAreCheap() const;
  /// Finds the weights that deltas produce, and the entries that deltas use.
  Result<Merged> FindMerged(const ReadContext& context) const;
  /// Returns the entry as an array called by its name; nullopt if it is not a
  /// tensor.
  Result<std::optional<ArrayInfo>> Weight(uint32_t entry,
                                          const ReadContext& context) const;
  /// Whether an entry may be a graph: it is uncompressed, not of type tensor,
  /// and neither too short nor too large.
  bool MayBeGraph(uint32_t entry) const;
  /// Returns the verified bytes of an entry that is a graph.
  Result<std::shared_ptr<const Source>> OpenGraph(
      uint32_t entry, const ReadContext& context) const;

  std::optional<uint32_t> metadata_;  // the entry `__metadata__`
  std::vector<ModelFileEntry> documents_;
  Deltas deltas_;
  // Entries of tensors and of their scales, matched by name alone, in the order
  // of the tensors.
  std::vector<std::pair<uint32_t, uint32_t>> scales_;
  std::vector<uint32_t> graphs_;  // entries that are graphs by their bytes
};

/// Returns views/dequantized/NAME of `shard` (docs/formats/model_shard.md,
/// section 4).
std::shared_ptr<const FileTable> DequantizedTensors(
    std::shared_ptr<const ModelShard> shard);

/// Returns views/dequantized/NAME as an array called `name`. Fails with
/// kCorrupt if the scales do not fit.
Result<ArrayInfo> DequantizedArray(std::shared_ptr<const ModelShard> shard,
                                   uint32_t entry, std::string name,
                                   const ReadContext& context);

}  // namespace ctxfs::model_shard
