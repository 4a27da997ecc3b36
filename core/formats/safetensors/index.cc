// SPDX-License-Identifier: Apache-2.0
//
// Implements model.safetensors.index.json (docs/formats/safetensors.md, section
// 8): the tensors of several files as one model.
#include "core/formats/safetensors/index.h"

#include <fmt/core.h>

#include <unordered_set>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/facts/model_files.h"
#include "core/container/open.h"
#include "core/formats/safetensors/facts.h"
#include "core/formats/safetensors/limits.h"
#include "core/io/download_cache.h"

namespace ctxfs::safetensors {
namespace {

constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
// Estimated memory of a shard in info.json.
constexpr uint64_t kObjectBytes = 1024;

}  // namespace

Status SafetensorsIndexContainer::Load(const ReadContext& context) {
  CTXFS_TRY(ReadIndex(context));
  CTXFS_TRY(OpenShards(context));
  CTXFS_TRY(FindTensors(context));
  CTXFS_TRY(AddUnlisted(context));
  if (!options_.alone) documents_ = FindModelFiles(*source(), context);
  return {};
}

Status SafetensorsIndexContainer::ReadIndex(const ReadContext& context) {
  // A file with the name of an index must be an index. Under another name, a
  // large file or JSON without a weight_map is just no container.
  const bool named = source()->name().ends_with(kIndexSuffix);
  if (source()->size() > kMaxIndexBytes) {
    return Error{named ? Code::kLimit : Code::kNotContainer,
                 fmt::format("an index of {} bytes is over the limit of {}",
                             source()->size(), kMaxIndexBytes),
                 0};
  }
  const Buffer text =
      CTXFS_TRY(ReadBuffer(*source(), 0, source()->size(), "index", context));
  Result<SafetensorsIndexJson> index =
      ParseSafetensorsIndex(AsText(text.span()), context);
  if (!index) {
    Error error = std::move(index).error();
    if (named && error.code == Code::kNotContainer) error.code = Code::kCorrupt;
    return error;
  }
  index_ = *std::move(index);
  return {};
}

void SafetensorsIndexContainer::WarnOf(std::string what, Severity severity) {
  if (warnings().size() >= kMaxFaults) {
    ++further_warnings_;
    return;
  }
  Warn({std::move(what), kNoOffset, severity});
}

Status SafetensorsIndexContainer::OpenShards(const ReadContext& context) {
  size_t opened = 0;
  for (const std::string& file : index_.files) {
    CTXFS_TRY(context.Check());
    Shard shard;
    if (options_.alone) {
      shard.fault = "the file " + Quote(file) + " is not opened";
    } else if (opened == kMaxShards) {
      shard.fault = fmt::format("the file {} is over the limit of {} shards",
                                Quote(file), kMaxShards);
    } else {
      shard = CTXFS_TRY(OpenShard(file, context));
      if (shard.container != nullptr) {
        ++opened;
        AddStoredSize(shard.container->StoredSize());
      }
    }
    if (shard.container == nullptr) WarnOf(shard.fault, Severity::kDamage);
    CTXFS_TRY(AdmitGrowth(shards_));
    shards_.push_back(std::move(shard));
  }
  return {};
}

Result<SafetensorsIndexContainer::Shard> SafetensorsIndexContainer::OpenShard(
    const std::string& file, const ReadContext& context) {
  const auto without = [&file](const std::string& why) {
    return Shard{nullptr, "the file " + Quote(file) + " " + why};
  };
  if (file.find('\0') != std::string::npos) return without("has a NUL byte");
  Result<std::shared_ptr<const Source>> source =
      this->source()->OpenSibling(file, context);
  if (!source) {
    const Error& error = source.error();
    if (options_.FailsWith(error)) return Within(Quote(file), error);
    return error.code == Code::kNotFound ? without(WhyMissing(error))
           : error.code == Code::kCorrupt
               ? without("is outside the folder: " + error.what)
               : without("cannot be read: " + error.what);
  }
  Result<Buffer> head = ReadHead(**source, context);
  if (!head && options_.FailsWith(head.error())) {
    return Within(Quote(file), head.error());
  }
  if (!head || !SafetensorsContainer::Recognises(head->span())) {
    return without(head ? "cannot be read: it is not a safetensors file"
                        : "cannot be read: " + head.error().what);
  }
  auto shard =
      std::make_shared<SafetensorsContainer>(*std::move(source), options_);
  if (Status loaded = shard->Load(context); !loaded) {
    const Error& error = loaded.error();
    if (options_.FailsWith(error)) return Within(Quote(file), error);
    return without("cannot be read: " + error.Text());
  }
  return Shard{std::move(shard), {}};
}

Status SafetensorsIndexContainer::FindTensors(const ReadContext& context) {
  CTXFS_TRY(HeapAllowance::Admit(index_.names.count() * sizeof(Item)));
  items_.reserve(index_.names.count());
  for (uint32_t i = 0; i < index_.names.count(); ++i) {
    if (i % kTensorsPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    Item item{index_.file_of[i], kNoTensor};
    const Shard& shard = shards_[item.shard];
    if (shard.container != nullptr) {
      const auto found = shard.container->header().names.Find(index_.names[i]);
      item.tensor = found.value_or(kNoTensor);
      if (!found) {
        WarnOf("the file " + Quote(index_.files[item.shard]) +
                   " has no tensor " + Quote(index_.names[i]),
               Severity::kDamage);
      }
    }
    items_.push_back(item);
  }
  return {};
}

Status SafetensorsIndexContainer::AddUnlisted(const ReadContext& context) {
  std::unordered_set<std::string_view> taken;
  for (uint32_t s = 0; s < shards_.size(); ++s) {
    if (shards_[s].container == nullptr) continue;
    const SafetensorsHeader& header = shards_[s].container->header();
    for (uint32_t i = 0; i < header.tensors.size(); ++i) {
      if (i % kTensorsPerCheck == 0) {
        CTXFS_TRY(context.Check());
      }
      const std::string_view name = header.names[i];
      const std::optional<uint32_t> listed = index_.names.Find(name);
      // weight_map has the name, and the shard that it gives, this one or
      // another, has the tensor.
      if (listed && items_[*listed].tensor != kNoTensor) continue;
      WarnOf("tensor " + Quote(name) + " of the file " +
                 Quote(index_.files[s]) + " is not in the index",
             Severity::kNote);
      if (listed || !taken.insert(name).second) continue;
      CTXFS_TRY(AdmitGrowth(items_));
      items_.push_back({s, i});
    }
  }
  return {};
}

std::string_view SafetensorsIndexContainer::TensorName(uint32_t item) const {
  if (item < index_.names.count()) return index_.names[item];
  const Item& unlisted = items_[item];
  return shards_[unlisted.shard].container->header().names[unlisted.tensor];
}

std::string SafetensorsIndexContainer::Label(uint32_t item) const {
  return fmt::format("tensor {} {}", item, Quote(TensorName(item)));
}

std::optional<Error> SafetensorsIndexContainer::TensorFault(
    uint32_t item) const {
  const Item& at = items_[item];
  const Shard& shard = shards_[at.shard];
  if (shard.container == nullptr) {
    return Error{Code::kCorrupt, Label(item) + ": " + shard.fault, 0};
  }
  if (at.tensor == kNoTensor) {
    return Error{Code::kCorrupt,
                 Label(item) + ": the file " + Quote(index_.files[at.shard]) +
                     " has no such tensor",
                 0};
  }
  return shard.container->TensorFault(at.tensor);
}

uint64_t SafetensorsIndexContainer::TensorSize(uint32_t item) const {
  const Item& at = items_[item];
  if (at.tensor == kNoTensor) return 0;
  return shards_[at.shard].container->TensorSize(at.tensor);
}

Result<Content> SafetensorsIndexContainer::OpenTensor(
    uint32_t item, const Request& request) const {
  if (std::optional<Error> fault = TensorFault(item)) return *std::move(fault);
  const Item& at = items_[item];
  return shards_[at.shard].container->OpenTensor(at.tensor, request);
}

EntryInfo SafetensorsIndexContainer::DescribeTensor(uint32_t item) const {
  const Item& at = items_[item];
  EntryInfo info;
  if (at.tensor != kNoTensor) {
    info = shards_[at.shard].container->DescribeTensor(at.tensor);
  } else {
    info.name = TensorName(item);
    info.kind = "tensor";
    info.verified = "none";
    info.note = TensorFault(item)->what;
  }
  info.extra["file"] = index_.files[at.shard];
  return info;
}

const Source* SafetensorsIndexContainer::FileOf(uint32_t item) const {
  const Shard& shard = shards_[items_[item].shard];
  return shard.container == nullptr ? nullptr : shard.container->source().get();
}

Container::Tables SafetensorsIndexContainer::Files() const {
  Tables files = {TensorFiles()};
  if (index_.metadata) {
    const Content metadata(Range{source(), index_.metadata->offset, nullptr},
                           index_.metadata->length);
    files.push_back(FixedFile(Role::kPrimary, "metadata.json", metadata));
    files.push_back(FixedFile(Role::kMetadata, "metadata.json", metadata));
  }
  files.push_back(
      FixedFile(Role::kRaw, "header.json",
                Content(Range{source(), 0, nullptr}, source()->size())));
  return files;
}

std::vector<std::string> SafetensorsIndexContainer::PartsBeside(
    const ReadContext& /*context*/) const {
  std::vector<std::string> files;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].container != nullptr) files.push_back(index_.files[i]);
  }
  return files;
}

Exports SafetensorsIndexContainer::Export() const {
  Exports exports = TensorExports();
  exports.bundle_name = "model";
  exports.documents = documents_;
  return exports;
}

std::optional<ArrayInfo> SafetensorsIndexContainer::ArrayOf(
    uint32_t item) const {
  const Item& at = items_[item];
  if (at.tensor == kNoTensor) return std::nullopt;
  return shards_[at.shard].container->ArrayOf(at.tensor);
}

Status SafetensorsIndexContainer::AddFacts(const ReadContext& context,
                                           Facts& facts) const {
  return AddSafetensorsFacts(*source(), Metadata(context), documents_,
                             *Entries(), context, facts);
}

Json SafetensorsIndexContainer::Metadata(const Request& request) const {
  if (!index_.metadata) return nullptr;
  const Result<Buffer> text =
      ReadBuffer(*source(), index_.metadata->offset, index_.metadata->length,
                 "metadata", request);
  if (!text) return Json(Json::value_t::discarded);
  Result<ParsedJson> parsed = ParseJson(AsText(text->span()), request);
  return parsed ? std::move(parsed->value) : Json();
}

std::vector<Error> SafetensorsIndexContainer::Inspect(
    const ReadContext& context) const {
  std::vector<Error> faults = Faults();
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].container == nullptr) continue;
    for (Error& fault : shards_[i].container->Inspect(context)) {
      fault.what = index_.files[i] + ": " + fault.what;
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

void SafetensorsIndexContainer::AddInfo(Json& info,
                                        const ReadContext& context) const {
  AddTotals(info, context);
  Json files = Json::array();
  for (size_t i = 0; i < shards_.size(); ++i) {
    // If memory is refused, the caller discards the text, as after an
    // interrupt.
    if (!HeapAllowance::Admit(kObjectBytes)) return;
    const bool readable = shards_[i].container != nullptr;
    Json file = {{"file", index_.files[i]}, {"readable", readable}};
    if (readable) {
      file["entries"] = shards_[i].container->count();
    } else {
      file["fault"] = shards_[i].fault;
    }
    files.push_back(std::move(file));
  }
  info.update(
      {{"format", "safetensors-index"}, {"salvaged", options_.salvage}});
  info["files"] = std::move(files);
  if (further_warnings_ > 0) {
    info["warnings"].push_back(fmt::format("and {} more", further_warnings_));
  }
}

namespace {

/// Always false: an index has no magic number, and other JSON files look alike.
bool Probe(Bytes /*head*/) { return false; }

bool Resembles(Bytes head) {
  return !head.empty() && head.front() == std::byte{'{'};
}

}  // namespace

}  // namespace ctxfs::safetensors

namespace ctxfs {

extern const Format kSafetensorsIndex{
    .name = "safetensors_index",
    .contents = "models of several safetensors files",
    .extensions = "",
    .golden = "safetensors",
    .docs = "safetensors",
    .probe = &safetensors::Probe,
    .open = &OpenAs<safetensors::SafetensorsIndexContainer>,
    .resembles = &safetensors::Resembles,
    .name_suffix = safetensors::kIndexSuffix,
    .folder_index = "model.safetensors.index.json",
    .traits = {.stays_file = true, .opens_neighbours = true}};

}  // namespace ctxfs
