// SPDX-License-Identifier: Apache-2.0
//
// Collects the weights of a ModelShard for the model's loaders
// (docs/formats/model_shard.md, section 8).
#include <fmt/core.h>

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/facts/model_files.h"
#include "core/content/check_at.h"
#include "core/formats/model_shard/limits.h"
#include "core/formats/model_shard/model_shard.h"

namespace ctxfs::model_shard {
namespace {

/// Whether a tensor's values are unambiguous: packed types have undefined
/// values, and code 9 was used for two types.
bool IsCertain(const TensorHeader& header) {
  constexpr uint8_t kAmbiguousCode = 9;
  return header.type_name == DTypeName(header.dtype) &&
         header.code != kAmbiguousCode;
}

}  // namespace

struct ModelShard::Merged {
  /// Deltas on which no other delta is based, and the names of the weights that
  /// they produce.
  std::vector<std::pair<uint32_t, std::string>> weights;
  /// Names of entries that deltas use or that are deltas. These entries are not
  /// listed as weights.
  std::unordered_set<std::string> used;
};

Result<ModelShard::Merged> ModelShard::FindMerged(
    const ReadContext& context) const {
  Merged merged;
  std::unordered_map<std::string, const Deltas::Spec*> by_name;
  std::set<std::string> bases;  // in the same container
  for (const auto& [entry, spec] : deltas_.specs()) {
    CTXFS_TRY(context.Check());
    const auto resolved = deltas_.Resolve(entry, context);
    if (!resolved) return Within(Label(entry), resolved.error());
    std::string name(EntryName(entry).value_or(""));
    if (spec.base_file.empty()) {
      bases.insert(spec.base);
      merged.used.insert(spec.base);
    }
    merged.used.insert(name);
    if (!spec.other.empty()) merged.used.insert(spec.other);
    by_name.emplace(std::move(name), &spec);
  }
  std::unordered_set<std::string> made;
  for (const auto& [entry, spec] : deltas_.specs()) {
    if (bases.contains(std::string(EntryName(entry).value_or("")))) continue;
    const Deltas::Spec* root = &spec;
    // Resolve has refused longer chains. But if names repeat, this walk can
    // differ from that of Resolve, and even be a cycle.
    for (unsigned depth = 0; root->base_file.empty() && depth < kMaxDeltaDepth;
         ++depth) {
      const auto next = by_name.find(root->base);
      if (next == by_name.end()) break;
      root = next->second;
    }
    if (!made.insert(root->base).second) {
      return Error{Code::kCorrupt,
                   Label(entry) + ": one of several deltas for the weight " +
                       Quote(root->base),
                   Record(entry).data_offset};
    }
    merged.weights.emplace_back(entry, root->base);
  }
  return merged;
}

Result<std::optional<ArrayInfo>> ModelShard::Weight(
    uint32_t entry, const ReadContext& context) const {
  const std::string name(EntryName(entry).value_or(""));
  const Result<TensorHeader> header = Header(entry, context);
  if (!header) {
    const bool is_tensor =
        Record(entry).content_type == shard::kTensorContent &&
        !IsReservedName(name);
    if (!is_tensor && header.error().Permanent()) {
      return std::optional<ArrayInfo>();
    }
    return Within(Label(entry), header.error());
  }
  if (const auto fault = EntryFault(entry)) return Within(Label(entry), *fault);
  if (!IsCertain(*header)) {
    return Error{Code::kCorrupt,
                 Label(entry) + ": the values of its elements, " +
                     std::string(header->type_name) + ", are not certain",
                 Record(entry).data_offset};
  }
  if (header->dtype != DType::kI8 || !ScalesOf(entry)) {
    return std::optional(TensorArray(name, entry, *header));
  }
  Result<ArrayInfo> values =
      DequantizedArray(Share(*this), entry, name, context);
  if (!values) return Within(Label(entry), values.error());
  return std::optional(*std::move(values));
}

Result<std::vector<ArrayInfo>> ModelShard::Weights(
    const ReadContext& context) const {
  if (entry_count() > limits::kArrayEntries) {
    return Error{Code::kLimit,
                 fmt::format("more than {} entries", limits::kArrayEntries)};
  }
  const Merged merged = CTXFS_TRY(FindMerged(context));
  std::unordered_set<uint32_t> scales;
  for (const auto& [entry, scales_entry] : scales_) {
    CTXFS_TRY(context.Check());
    const Result<TensorHeader> header = Header(entry, context);
    if (header && header->dtype == DType::kI8) scales.insert(scales_entry);
  }
  std::vector<ArrayInfo> weights;
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    CTXFS_TRY(CheckAt(context, entry));
    const std::string name(EntryName(entry).value_or(""));
    if (ModelFileRole(name) || scales.contains(entry) ||
        merged.used.contains(name)) {
      continue;
    }
    std::optional<ArrayInfo> weight = CTXFS_TRY(Weight(entry, context));
    if (weight) weights.push_back(*std::move(weight));
  }
  for (const auto& [entry, name] : merged.weights) {
    ArrayInfo array = CTXFS_TRY(deltas_.Array(entry, name, context));
    weights.push_back(std::move(array));
  }
  return weights;
}

}  // namespace ctxfs::model_shard
