// SPDX-License-Identifier: Apache-2.0
//
// Builds the files of a store: arrays and groups, attributes, and metadata as
// stored.
#include <fmt/format.h>

#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/formats/zarr/zarr.h"

namespace ctxfs::zarr {
namespace {

/// The names of a chunk's codecs in the order of writing, then in parentheses
/// those of inner chunks.
std::string CodecsOf(const Chain& chain) {
  std::string text = fmt::format("{}", fmt::join(chain.names, ","));
  if (chain.shards != nullptr) {
    text += "(" + CodecsOf(chain.shards->inner) + ")";
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string_view Store::NameOf(uint32_t number) const {
  const std::string& path = entries_[number].node.path;
  return path.empty() ? std::string_view("array") : path;
}

FileFacts Store::FactsOf(uint32_t number) const {
  const Entry& entry = entries_[number];
  FileFacts facts;
  facts.fault = entry.node.fault;
  if (entry.text == nullptr) facts.size = entry.size;
  if (entry.is_group()) facts.kind = FileKind::kDirectory;
  return facts;
}

void Store::DescribePlan(const ArrayPlan& plan, EntryInfo& info) const {
  if (plan.type.kind == ElementType::Kind::kNumber) {
    info.dtype = DTypeName(plan.type.number.dtype);
    info.shape = plan.shape;
  }
  info.codec = CodecsOf(plan.chain);
  const bool checked = plan.chain.checks() || (options_.archive != nullptr &&
                                               options_.archive->verifies);
  info.verified = checked ? "no" : "none";
  info.extra["shape"] = plan.shape;
  info.extra["data_type"] = plan.type.name;
  info.extra["chunk_shape"] = plan.chunk;
  info.extra["fill_value"] = plan.fill_value;
  info.extra["zarr_format"] = plan.version;
  if (plan.chain.shards != nullptr) {
    info.extra["inner_chunk_shape"] = plan.chain.shards->chunk;
  }
  if (!plan.dimension_names.is_null()) {
    info.extra["dimension_names"] = plan.dimension_names;
  }
  if (plan.type.kind != ElementType::Kind::kNumber) {
    info.note = "elements of type " + plan.type.name;
  } else if (plan.type.number.big) {
    info.note = "stored as " + plan.type.name + ", big-endian";
  } else if (plan.fill_value.is_null()) {
    info.note = "no_fill_value: missing chunks are shown as zeros";
  }
}

EntryInfo Store::Describe(uint32_t number, const ReadContext& context) const {
  const Entry& entry = entries_[number];
  EntryInfo info;
  info.name = std::string(NameOf(number));
  info.kind = entry.node.is_array ? "array" : "group";
  info.verified = "none";
  info.offset = kNoOffset;
  info.size = entry.text == nullptr ? entry.size : 0;
  if (entry.is_group()) return info;
  const Result<PlanPtr> plan = PlanOfEntry(entry, context);
  if (plan) {
    DescribePlan(**plan, info);
    if (entry.verdict->load() == Verdict::kFailed) info.verified = "failed";
  } else if (plan.error().Permanent()) {
    info.note = plan.error().what;
  } else {
    info.incomplete = true;
  }
  return info;
}

std::shared_ptr<const FileTable> Store::EntryFiles() const {
  return MakeTable(
      {.placement = {.role = Role::kEntries, .shared = true, .has_kinds = true},
       .count = static_cast<uint32_t>(entries_.size()),
       .path = [this](uint32_t file, std::string& /*scratch*/)
           -> std::string_view { return NameOf(file); },
       .open = [this](
                   uint32_t file,
                   const ReadContext& context) { return Open(file, context); },
       .facts = [this](uint32_t file) { return FactsOf(file); },
       .describe =
           [this](uint32_t file, const ReadContext& context) {
             return Describe(file, context);
           },
       .owner = Share(*this)});
}

Result<std::string> Store::AttributesOf(const Node& node,
                                        const Request& request) const {
  const Error gone{Code::kStale, "the attributes are gone"};
  const auto text =
      CTXFS_TRY(ReadText(*source(), node.AttributesPath(), request));
  if (!text) return gone;
  if (node.version == 2) return *text;
  const MetadataText metadata = CTXFS_TRY(ReadMetadata(*text, request));
  const std::string_view attributes = metadata.attributes.In(*text);
  if (attributes.empty()) return gone;
  return std::string(attributes) + '\n';
}

std::shared_ptr<const FileTable> Store::NodeFiles(
    Role role, std::function<std::string(const Node&)> path,
    std::function<Result<Content>(const Node&, const ReadContext&)> open)
    const {
  const auto count = static_cast<uint32_t>(entries_.size());
  const auto node = [this, count](uint32_t file) -> const Node& {
    return file == count ? root_ : entries_[file].node;
  };
  return MakeTable(
      {.placement = {.role = role},
       .count = root_.is_array ? count : count + 1,
       .path = [node, path = std::move(path)](
                   uint32_t file,
                   std::string& scratch) -> std::optional<std::string_view> {
         scratch = path(node(file));
         if (scratch.empty()) return std::nullopt;
         return scratch;
       },
       .open =
           [node, open = std::move(open)](uint32_t file,
                                          const ReadContext& context) {
             return open(node(file), context);
           },
       .facts =
           [](uint32_t /*file*/) {
             return FileFacts{.size_cost = Cost::kSmallRead};
           },
       .owner = Share(*this)});
}

std::shared_ptr<const FileTable> Store::AttributeFiles() const {
  return NodeFiles(
      Role::kPrimary,
      [](const Node& node) -> std::string {
        if (!node.has_attributes) return {};
        if (!node.is_array) return node.Beside("attributes.json");
        return (node.path.empty() ? "array" : node.path) + ".attributes.json";
      },
      [this](const Node& node, const ReadContext& context) -> Result<Content> {
        std::string text = CTXFS_TRY(AttributesOf(node, context));
        return LiteralContent(std::move(text));
      });
}

std::shared_ptr<const FileTable> Store::RawFiles(
    std::function<std::string(const Node&)> path) const {
  return NodeFiles(Role::kRaw, path,
                   [this, path](const Node& node,
                                const ReadContext& context) -> Result<Content> {
                     const SourcePtr file =
                         CTXFS_TRY(source()->OpenBeside(path(node), context));
                     return Content(Range{file, 0, nullptr}, file->size());
                   });
}

Container::Tables Store::Files() const {
  return {EntryFiles(), AttributeFiles(), RawFiles(&Node::MetadataPath),
          RawFiles([](const Node& node) -> std::string {
            if (node.version == 3 || !node.has_attributes) return {};
            return node.AttributesPath();
          })};
}

std::vector<ArrayInfo> Store::Arrays(const ReadContext& context) const {
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (!context.Check() || !AdmitGrowth(arrays)) break;
    if (!entries_[i].number || entries_[i].node.fault) continue;
    const Result<PlanPtr> plan = PlanOfEntry(entries_[i], context);
    if (!plan) continue;
    ArrayInfo array;
    array.name = NameOf(i);
    array.dtype = (*plan)->type.number.dtype;
    array.shape = (*plan)->shape;
    array.opening_reads = true;
    array.open = [self = Share(*this), i](const ReadContext& request) {
      return self->Open(i, request);
    };
    arrays.push_back(std::move(array));
  }
  return arrays;
}

Status Store::CheckArrays(const ReadContext& context) const {
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    CTXFS_TRY(context.Check());
    const Entry& entry = entries_[i];
    if (!entry.node.is_array || entry.node.fault || entry.number) continue;
    return Error{Code::kUnsupported, "array '" + std::string(NameOf(i)) +
                                         "' has elements that are no numbers"};
  }
  return {};
}

Exports Store::Export() const {
  Exports exports;
  if (arrays_ == 0 || arrays_ > limits::kArrayEntries) return exports;
  exports.bundle_name = "arrays";
  exports.arrays = [self = Share(*this)](const ReadContext& context) {
    return self->Arrays(context);
  };
  exports.complete = [self = Share(*this)](const ReadContext& context) {
    return self->CheckArrays(context);
  };
  return exports;
}

void Store::AddInfo(Json& info, const ReadContext& /*context*/) const {
  uint64_t bytes = 0;
  uint64_t unreadable = 0;
  for (const Entry& entry : entries_) {
    bytes += entry.text == nullptr ? entry.size : 0;
    unreadable += entry.node.fault ? 1U : 0U;
  }
  info.update({{"format", "zarr"},
               {"version", root_.version},
               {"entries", entries_.size()},
               {"arrays", arrays_},
               {"groups", entries_.size() - arrays_},
               {"entries_unreadable", unreadable},
               {"decoded_size", bytes}});
}

Status Store::AddFacts(const ReadContext& context, Facts& facts) const {
  facts.Add("zarr_format", root_.version);
  facts.Add("arrays", arrays_);
  facts.Add("groups", entries_.size() - arrays_);
  if (root_.has_attributes) {
    const std::string text = CTXFS_TRY(AttributesOf(root_, context));
    const Result<ParsedJson> parsed =
        ParseJson(text, context, JsonDialect::kPython);
    if (parsed) facts.AddMembers("attributes.", parsed->value);
  }
  return AddArrays(*Entries(), context, facts);
}

}  // namespace ctxfs::zarr
