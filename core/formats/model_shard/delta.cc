// SPDX-License-Identifier: Apache-2.0
//
// Finds the tensors of a delta, and checks that they fit together
// (docs/formats/conventions.md, section 2). merge.cc computes the merged
// tensor.
#include "core/formats/model_shard/delta.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/container/file_set.h"
#include "core/content/sha256_of.h"
#include "core/formats/model_shard/limits.h"

namespace ctxfs::model_shard {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";

/// Reads the header of a tensor. Fails for packed types, whose values are
/// undefined.
Result<TensorHeader> Numbers(const TensorShard& shard, uint32_t entry,
                             const ReadContext& context) {
  Result<TensorHeader> header = shard.Header(entry, context);
  if (header && header->type_name != DTypeName(header->dtype)) {
    return Error{Code::kCorrupt,
                 "its elements are " + std::string(header->type_name)};
  }
  return header;
}

/// Finds the entries with these names; of entries with equal names, the first.
std::unordered_map<std::string, uint32_t> FindEntries(
    const TensorShard& shard, const std::set<std::string>& names) {
  std::unordered_map<std::string, uint32_t> found;
  for (uint32_t entry = 0; entry < shard.entry_count(); ++entry) {
    const std::optional<std::string_view> stored = shard.EntryName(entry);
    if (!stored) continue;
    std::string name(*stored);
    if (names.contains(name)) found.try_emplace(std::move(name), entry);
  }
  return found;
}

}  // namespace

void Deltas::Add(uint32_t entry, const Json& object) {
  Spec spec;
  spec.kind = TextAt(object, "kind");
  spec.base = TextAt(object, "base");
  spec.base_file = TextAt(object, "base_file");
  spec.base_hash = TextAt(object, "base_hash");
  if (spec.base_hash.starts_with(kHashPrefix)) {
    spec.base_hash.erase(0, kHashPrefix.size());
  }
  spec.base_hash = LowerHex(std::move(spec.base_hash));
  spec.other = TextAt(object, spec.kind == "lora" ? "a" : "indices");
  const Json* alpha = MemberAt(object, "alpha");
  if (alpha != nullptr && alpha->is_number()) spec.alpha = alpha->get<double>();
  specs_.emplace(entry, std::move(spec));
}

Status Deltas::Load(const TensorShard* shard, const OpenOptions& options,
                    const ReadContext& context) {
  shard_ = shard;
  if (specs_.empty()) return {};
  std::map<std::string, std::set<std::string>> names;
  for (const auto& [entry, spec] : specs_) {
    CTXFS_TRY(context.CheckMemory());
    verdicts_[entry] = Verdict::kUnknown;
    names[spec.base_file].insert(spec.base);
    names[""].insert(spec.other);
  }
  for (const auto& [file, wanted] : names) {
    Base& base = bases_[file];
    if (file.empty()) {
      base.entries = FindEntries(*shard, wanted);
      continue;
    }
    if (options.alone || options.formats == nullptr ||
        bases_.size() > kMaxBaseFiles) {
      base.why =
          options.alone
              ? "not opened, because this container is itself a base_file"
              : fmt::format("more than {} base files", kMaxBaseFiles);
      continue;
    }
    Result<std::shared_ptr<const Source>> source =
        shard->source()->OpenBeside(file, context);
    if (!source) {
      if (options.FailsWith(source.error())) {
        return Within(Quote(file), source.error());
      }
      base.why = source.error().what;
      continue;
    }
    OpenOptions alone = options;
    alone.alone = true;
    const Result<std::shared_ptr<const Container>> container =
        options.formats->Open(*source, alone, context);
    if (!container && options.FailsWith(container.error())) {
      return Within(Quote(file), container.error());
    }
    if (container) {
      base.shard = std::dynamic_pointer_cast<const TensorShard>(*container);
    }
    if (base.shard == nullptr) {
      base.why = container ? "not a Shard of tensors" : container.error().what;
      continue;
    }
    base.entries = FindEntries(*base.shard, wanted);
  }
  return {};
}

uint64_t Deltas::StoredSize() const {
  uint64_t size = 0;
  for (const auto& [file, base] : bases_) {
    if (base.shard != nullptr) size += base.shard->StoredSize();
  }
  return size;
}

Result<uint32_t> Deltas::Find(const Base& base, const std::string& name) const {
  const auto found = base.entries.find(name);
  if (found != base.entries.end()) return found->second;
  return Error{Code::kCorrupt, "no entry " + Quote(name)};
}

Result<std::shared_ptr<const Deltas::Resolved>> Deltas::Resolve(
    uint32_t entry, const ReadContext& context) const {
  Result<std::shared_ptr<const Resolved>> delta = Resolve(entry, 1, context);
  if (delta) return delta;
  Error error = Within("not merged", delta.error());
  if (error.offset == kNoOffset) {
    error.offset = shard_->Record(entry).data_offset;
  }
  return error;
}

Result<std::shared_ptr<const Deltas::Resolved>> Deltas::Resolve(
    uint32_t entry, unsigned depth, const ReadContext& context) const {
  const auto unfit = [](std::string why) {
    return Error{Code::kCorrupt, std::move(why)};
  };
  if (depth > kMaxDeltaDepth) {
    return unfit(fmt::format("a cycle, or a chain of more than {} deltas",
                             kMaxDeltaDepth));
  }
  const Spec& spec = specs_.at(entry);
  auto delta = std::make_shared<Resolved>();
  const TensorHeader self = CTXFS_TRY(Numbers(*shard_, entry, context));

  const Base& base = bases_.at(spec.base_file);
  if (!spec.base_file.empty() && base.shard == nullptr) {
    return unfit("base_file " + Quote(spec.base_file) + ": " + base.why);
  }
  const uint32_t base_entry = CTXFS_TRY(Find(base, spec.base));
  delta->outside = base.shard;
  delta->base_entry = base_entry;
  delta->base_hash = spec.base_hash;
  delta->entry = entry;
  if (spec.base_file.empty() && Has(base_entry)) {
    delta->below = CTXFS_TRY(Resolve(base_entry, depth + 1, context));
    delta->shape = delta->below->shape;
    delta->elements = delta->below->elements;
  } else {
    const TensorShard& shard = base.shard != nullptr ? *base.shard : *shard_;
    const TensorHeader header = CTXFS_TRY(Numbers(shard, base_entry, context));
    delta->shape = header.shape;
    delta->base_type = header.dtype;
    delta->elements = header.elements();
  }
  const uint64_t rows = delta->shape.empty() ? 1 : delta->shape[0];
  delta->columns = rows == 0 ? 0 : delta->elements / rows;
  if (delta->elements > INT64_MAX / sizeof(float)) {
    return unfit("too many elements");
  }

  delta->own_type = self.dtype;
  delta->own_count = self.elements();
  if (spec.kind == "scale") {
    delta->kind = Resolved::Kind::kScale;
    delta->per_row = !self.shape.empty();
    if (delta->per_row &&
        (delta->shape.empty() || self.shape != std::vector<uint64_t>{rows})) {
      return unfit("the scale is neither one number nor one number a row");
    }
    return std::shared_ptr<const Resolved>(std::move(delta));
  }

  const uint32_t other = CTXFS_TRY(Find(bases_.at(""), spec.other));
  const TensorHeader header = CTXFS_TRY(Numbers(*shard_, other, context));
  delta->other = other;
  delta->other_type = header.dtype;
  if (spec.kind == "lora") {
    delta->kind = Resolved::Kind::kLora;
    if (delta->shape.size() != 2 || header.shape.size() != 2 ||
        self.shape.size() != 2 || self.shape[0] != delta->shape[0] ||
        header.shape[1] != delta->shape[1] ||
        header.shape[0] != self.shape[1]) {
      return unfit("the shapes of base, a and b do not fit together");
    }
    delta->rank = self.shape[1];
    if (header.elements() > kMaxLoraElements) {
      return unfit(
          fmt::format("a has more than {} elements", kMaxLoraElements));
    }
    if (!spec.alpha) return unfit("no alpha");
    if (delta->rank > 0) {
      delta->factor =
          static_cast<float>(*spec.alpha / static_cast<double>(delta->rank));
    }
  } else if (spec.kind == "sparse") {
    delta->kind = Resolved::Kind::kSparse;
    if (header.dtype != DType::kI64 && header.dtype != DType::kU64) {
      return unfit("the indices are not 64-bit integers");
    }
    if (header.elements() != self.elements()) {
      return unfit(fmt::format("{} indices for {} values", header.elements(),
                               self.elements()));
    }
  } else {
    return unfit("unknown kind " + Quote(spec.kind));
  }
  return std::shared_ptr<const Resolved>(std::move(delta));
}

Result<Content> Deltas::Open(uint32_t entry, const ReadContext& context) const {
  const std::shared_ptr<const Resolved> delta =
      CTXFS_TRY(Resolve(entry, context));
  return OpenMerged(*delta, context);
}

Result<ArrayInfo> Deltas::Array(uint32_t entry, std::string name,
                                const ReadContext& context) const {
  const std::shared_ptr<const Resolved> delta =
      CTXFS_TRY(Resolve(entry, context));
  return ArrayInfo{
      std::move(name),
      DType::kF32,
      delta->shape,
      [this, owner = shard_->shared_from_this(),
       entry](const ReadContext& request) { return Open(entry, request); },
      /*opening_reads=*/true,
      /*merged=*/true};
}

std::shared_ptr<const FileTable> MergedTensors(
    std::shared_ptr<const TensorShard> shard, const Deltas& deltas) {
  const TensorShard& model = *shard;
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = "merged",
                     .exists_cost = Cost::kSmallRead},
       .count = model.entry_count(),
       .path = PathsOfEntries(
           model.EntryTable(),
           [&deltas](uint32_t entry) { return deltas.Has(entry); }),
       .open =
           [&deltas](uint32_t entry, const ReadContext& context) {
             return deltas.Open(entry, context);
           },
       .size =
           [&deltas](uint32_t entry, const ReadContext& context) {
             return SizeIn(deltas.Resolve(entry, context),
                           &Deltas::Resolved::size);
           },
       .exists =
           [&deltas](uint32_t entry, Cost /*most*/,
                     const ReadContext& context) {
             return ExistsIf(deltas.Resolve(entry, context));
           },
       .describe =
           [&model, &deltas](uint32_t entry, const ReadContext& context) {
             EntryInfo info = model.Describe(entry, context);
             const auto delta = deltas.Resolve(entry, context);
             info.kind = "merged";
             info.computed = true;
             info.dtype = DTypeName(DType::kF32);
             info.shape = delta ? std::optional((*delta)->shape) : std::nullopt;
             info.note = deltas.specs().at(entry).kind + " applied to " +
                         Quote(deltas.specs().at(entry).base);
             return info;
           },
       .owner = std::move(shard)});
}

}  // namespace ctxfs::model_shard
