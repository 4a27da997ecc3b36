// SPDX-License-Identifier: Apache-2.0
//
// ModelShard: Shard roles 1, 0 and 6 (docs/formats/model_shard.md).
//
//   NAME            a tensor, TensorV1: a header and the elements
//   NAME.scales     float scales of the int8 tensor NAME; also NAME.scale, or
//                   BASE.scales for BASE.weight
//   __metadata__    JSON of the model
//   config.json     files for from_pretrained
//   (core/container/facts/model_files.h)
#include "core/formats/model_shard/model_shard.h"

#include <xxhash.h>

#include <algorithm>
#include <compare>
#include <string_view>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/seed.h"
#include "core/container/documents.h"
#include "core/container/facts/config_facts.h"
#include "core/container/facts/model_files.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
#include "core/content/content_source.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/graph/cowrie_files.h"
#include "core/formats/graph/limits.h"
#include "core/formats/model_shard/limits.h"

namespace ctxfs::model_shard {
namespace {

constexpr std::string_view kMetadataName = "__metadata__";

// Forms of names of scales, best first: suffix of the scales' name, and the
// suffix of the tensor's name that it replaces.
struct ScaleForm {
  std::string_view scales;
  std::string_view tensor;
};
constexpr ScaleForm kScaleForms[] = {
    {".scales", ""}, {".scale", ""}, {".scales", ".weight"}};

/// Whether an entry that starts with `magic` is shown as a graph. It must have
/// the magic of a graph, or the content type and the first bytes of cowrie.
bool IsGraph(Bytes magic, uint16_t content_type) {
  constexpr auto kGeneration = std::byte{2};
  if (AsText(magic) == "SJGN" || AsText(magic) == "SJGZ") return true;
  return content_type == shard::kCowrieContent &&
         ((cowrie::LooksLikeCowrie(magic) && magic[2] == kGeneration) ||
          cowrie::LooksLikeCowrieGraph1(magic));
}

bool Probe(Bytes head) {
  return shard::HasShardRole(head, shard::kModelRole) ||
         shard::HasShardRole(head, shard::kUnknownRole) ||
         shard::HasShardRole(head, shard::kGraphRole);
}

}  // namespace

Status ModelShard::Load(const ReadContext& context) {
  CTXFS_TRY(TensorShard::Load(context));
  CTXFS_TRY(FindDocuments(context));
  CTXFS_TRY(FindScales(context));
  FindGraphs(context);
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    CTXFS_TRY(CheckAt(context, entry));
    const Json* conventions = ConventionsOf(entry);
    if (conventions == nullptr) continue;
    const Json* delta = MemberAt(*conventions, "delta");
    if (delta != nullptr && delta->is_object()) deltas_.Add(entry, *delta);
  }
  CTXFS_TRY(deltas_.Load(this, options_, context));
  AddStoredSize(deltas_.StoredSize());
  return {};
}

Status ModelShard::FindDocuments(const ReadContext& context) {
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    CTXFS_TRY(CheckAt(context, entry));
    const std::string_view name = EntryName(entry).value_or("");
    const std::optional<DocumentRole> role = ModelFileRole(name);
    if (!role && name != kMetadataName) continue;
    if (EntryFault(entry) || EntryLocked(entry)) continue;
    if (!role) {
      metadata_ = entry;
    } else if (!HasFile(*role)) {
      documents_.push_back({*role, entry});
    }
  }
  return {};
}

bool ModelShard::HasFile(DocumentRole role) const {
  return std::ranges::find(documents_, role, &ModelFileEntry::role) !=
         documents_.end();
}

bool ModelShard::WeightsAreCheap() const {
  if (entry_count() > limits::kHeadersExamined) return false;
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    if (Seal(entry) != nullptr && !EntryLocked(entry)) return false;
  }
  return true;
}

void ModelShard::AddInfo(Json& info, const ReadContext& context) const {
  TensorShard::AddInfo(info, context);
  Json& warnings = info["warnings"];
  if (HasFile(DocumentRole::kConfig) && WeightsAreCheap()) {
    const Result<std::vector<ArrayInfo>> weights = Weights(context);
    if (!weights && weights.error().Permanent()) {
      warnings.push_back(
          Within("there is no views/hf", weights.error()).Text());
    }
  }
  for (const auto& [entry, spec] : deltas_.specs()) {
    if (!context.Check()) break;
    const auto delta = deltas_.Resolve(entry, context);
    if (!delta) warnings.push_back(Within(Label(entry), delta.error()).Text());
  }
}

// Compares hashes of names, because ten million names would take a gigabyte.
Status ModelShard::FindScales(const ReadContext& context) {
  const uint64_t seed = RandomSeed();  // against crafted collisions
  const auto hash = [seed](std::string_view name) {
    return XXH3_64bits_withSeed(name.data(), name.size(), seed);
  };
  const auto tensor_of = [this](uint32_t entry, const ScaleForm& form) {
    std::string name(EntryName(entry).value_or(""));
    name.resize(name.size() - form.scales.size());
    return name += form.tensor;
  };
  struct Candidate {
    uint64_t tensor;  // hash of its name
    uint32_t form;
    uint32_t entry;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    CTXFS_TRY(CheckAt(context, entry));
    const std::string_view name = EntryName(entry).value_or("");
    for (uint32_t form = 0; form < std::size(kScaleForms); ++form) {
      if (!name.ends_with(kScaleForms[form].scales)) continue;
      CTXFS_TRY(AdmitGrowth(candidates));
      candidates.push_back(
          {hash(tensor_of(entry, kScaleForms[form])), form, entry});
    }
  }
  if (candidates.empty()) return {};
  // Candidates for a tensor are in order of their forms, best first, and then
  // of their entries.
  std::sort(candidates.begin(), candidates.end());
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    CTXFS_TRY(CheckAt(context, entry));
    const std::optional<std::string_view> name = EntryName(entry);
    if (!name) continue;
    const uint64_t wanted = hash(*name);
    auto found = std::lower_bound(candidates.begin(), candidates.end(),
                                  Candidate{wanted, 0, 0});
    while (found != candidates.end() && found->tensor == wanted &&
           tensor_of(found->entry, kScaleForms[found->form]) != *name) {
      ++found;
    }
    if (found == candidates.end() || found->tensor != wanted) continue;
    CTXFS_TRY(AdmitGrowth(scales_));
    scales_.emplace_back(entry, found->entry);
  }
  return {};
}

std::optional<uint32_t> ModelShard::ScalesOf(uint32_t entry) const {
  const auto found = std::lower_bound(scales_.begin(), scales_.end(),
                                      std::pair<uint32_t, uint32_t>(entry, 0));
  if (found == scales_.end() || found->first != entry) return std::nullopt;
  return found->second;
}

Container::Tables ModelShard::Files() const {
  Tables files = TensorShard::Files();
  if (metadata_) {
    files.push_back(
        AliasFile(Role::kMetadata, "model.json", EntryTable(), *metadata_));
  }
  if (!scales_.empty()) files.push_back(DequantizedTensors(Share(*this)));
  if (header().role == shard::kGraphRole)
    files.push_back(graph::CowrieFiles(Share(*this)));
  if (!deltas_.specs().empty()) {
    files.push_back(MergedTensors(Share(*this), deltas_));
  }
  return files;
}

Status ModelShard::AddOwnFacts(const ReadContext& context, Facts& facts) const {
  CTXFS_TRY(AddModelFacts(Export().documents, context, facts));
  return TensorShard::AddOwnFacts(context, facts);
}

Exports ModelShard::Export() const {
  Exports exports = TensorShard::Export();
  exports.bundle_name = "model";
  exports.weights = [self = Share(*this)](const ReadContext& context) {
    return self->Weights(context);
  };
  if (metadata_) {
    exports.documents = {
        {DocumentRole::kDescription, EntryTable(), *metadata_}};
  }
  for (const ModelFileEntry& file : documents_) {
    exports.documents.push_back({file.role, EntryTable(), file.entry});
  }
  return exports;
}

void ModelShard::FindGraphs(const ReadContext& context) {
  if (header().role != shard::kGraphRole) return;
  uint32_t sought = 0;
  for (uint32_t entry = 0; entry < entry_count() && sought < kMaxGraphsSought;
       ++entry) {
    if (!MayBeGraph(entry)) continue;
    ++sought;
    std::byte magic[4];
    if (source()->ReadAt(Record(entry).data_offset, magic, context) &&
        IsGraph(magic, Record(entry).content_type)) {
      graphs_.push_back(entry);
    }
  }
}

std::vector<ChildContainer> ModelShard::Children() const {
  std::vector<ChildContainer> graphs;
  for (const uint32_t entry : graphs_) {
    ChildContainer graph;
    graph.path = "graphs/" + std::string(EntryName(entry).value_or(""));
    graph.role = Role::kViews;
    graph.open_source = [self = Share(*this),
                         entry](const ReadContext& context) {
      return self->OpenGraph(entry, context);
    };
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

Result<std::shared_ptr<const Source>> ModelShard::OpenGraph(
    uint32_t entry, const ReadContext& context) const {
  Content content = CTXFS_TRY(OpenEntry(entry, context));
  CTXFS_TRY(content.Verify(context));
  return std::shared_ptr<const Source>(std::make_shared<const ContentSource>(
      source(), std::move(content), context.cache()));
}

bool ModelShard::MayBeGraph(uint32_t entry) const {
  constexpr uint64_t kLeast = 6;  // a frame with the shortest value
  return IsPlain(entry) &&
         Record(entry).content_type != shard::kTensorContent &&
         EntrySize(entry) >= kLeast && EntrySize(entry) <= graph::kMaxBytes;
}

std::vector<ArrayInfo> ModelShard::Arrays(const ReadContext& context) const {
  if (entry_count() > limits::kArrayEntries) return {};
  std::vector<ArrayInfo> arrays = TensorShard::Arrays(context);
  const auto add = [&arrays](Result<ArrayInfo> array) {
    if (array) arrays.push_back(*std::move(array));
  };
  for (const auto& [entry, scales] : scales_) {
    if (!context.Check()) return arrays;
    const std::string name = "dequantized/" + std::string(*EntryName(entry));
    add(DequantizedArray(Share(*this), entry, name, context));
  }
  for (const auto& [entry, spec] : deltas_.specs()) {
    if (!context.Check()) return arrays;
    const std::string name = "merged/" + std::string(*EntryName(entry));
    add(deltas_.Array(entry, name, context));
  }
  return arrays;
}

}  // namespace ctxfs::model_shard

namespace ctxfs {

extern const Format kModelShard{.name = "model_shard",
                                .contents = "model weights (ModelShard)",
                                .extensions = "mosh gshard",
                                .golden = "shard-profiles conventions",
                                .docs = "model_shard conventions",
                                .probe = &model_shard::Probe,
                                .open = &OpenAs<model_shard::ModelShard>,
                                .traits = {.opens_neighbours = true}};

}  // namespace ctxfs
