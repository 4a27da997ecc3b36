// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/json/json.h"
#include "core/formats/model_shard/tensor_shard.h"

namespace ctxfs::model_shard {

/// The deltas in a container's metadata (docs/formats/conventions.md, section
/// 2). Immutable once loaded. Has a plain pointer to its container, of which it
/// must be a member.
class Deltas {
 public:
  struct Spec {
    std::string kind;
    std::string base;
    std::string base_file;        // empty: this container
    std::string base_hash;        // 64 hex digits, or empty
    std::string other;            // lora: `a`; sparse: `indices`
    std::optional<double> alpha;  // lora
  };
  /// A delta whose tensors fit together: the inputs of a merged tensor.
  struct Resolved {
    enum class Kind { kLora, kScale, kSparse };

    Kind kind = Kind::kScale;
    uint32_t entry = 0;           // of the delta
    std::vector<uint64_t> shape;  // of result and base
    uint64_t elements = 0;
    uint64_t columns = 0;  // elements per row

    std::shared_ptr<const TensorShard> outside;  // of the base; null: this
    uint32_t base_entry = 0;
    std::string base_hash;
    DType base_type = DType::kF32;
    std::shared_ptr<const Resolved> below;  // the base's own delta, or null

    DType own_type = DType::kF32;
    uint64_t own_count = 0;
    bool per_row = false;  // scale

    uint32_t other = 0;  // lora: a; sparse: indices
    DType other_type = DType::kF32;
    uint64_t rank = 0;
    float factor = 0;

    uint64_t size() const { return elements * sizeof(float); }
  };

  /// Adds the delta of an entry, which the convention `object` describes. Must
  /// be called for all deltas before Load, which finds the entries and opens
  /// the files that the deltas name.
  void Add(uint32_t entry, const Json& object);
  Status Load(const TensorShard* shard, const OpenOptions& options,
              const ReadContext& context);

  /// Returns the stored size of other files that deltas need, in bytes.
  uint64_t StoredSize() const;

  bool Has(uint32_t entry) const { return specs_.contains(entry); }
  const std::map<uint32_t, Spec>& specs() const { return specs_; }

  /// Reads the headers of all input tensors of a merged tensor. Fails with
  /// kCorrupt if the tensors do not fit together, or for a cycle or a chain
  /// longer than kMaxDeltaDepth.
  Result<std::shared_ptr<const Resolved>> Resolve(
      uint32_t entry, const ReadContext& context) const;
  Result<Content> Open(uint32_t entry, const ReadContext& context) const;
  Result<ArrayInfo> Array(uint32_t entry, std::string name,
                          const ReadContext& context) const;

 private:
  struct Base {
    std::shared_ptr<const TensorShard> shard;  // null: cannot be opened
    std::string why;
    std::unordered_map<std::string, uint32_t> entries;
  };

  Result<std::shared_ptr<const Resolved>> Resolve(
      uint32_t entry, unsigned depth, const ReadContext& context) const;
  Result<uint32_t> Find(const Base& base, const std::string& name) const;
  /// Opens the merged tensor. Reading a window computes it from the rows that
  /// it touches (merge.cc).
  Result<Content> OpenMerged(const Resolved& delta,
                             const ReadContext& context) const;

  const TensorShard* shard_ = nullptr;
  std::map<uint32_t, Spec> specs_;
  std::map<std::string, Base> bases_;  // by base_file; "": this container
  uint64_t owner_ = NewOwner();
  /// The verdicts of checks that run once per mount, by entry.
  mutable std::map<uint32_t, AtomicVerdict> verdicts_;
};

/// Returns views/merged/NAME of `shard`; `deltas` must be a member of `shard`.
std::shared_ptr<const FileTable> MergedTensors(
    std::shared_ptr<const TensorShard> shard, const Deltas& deltas);

}  // namespace ctxfs::model_shard
