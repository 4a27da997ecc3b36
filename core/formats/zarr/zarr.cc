// SPDX-License-Identifier: Apache-2.0
//
// Zarr, versions 2 and 3 (docs/formats/zarr.md): a directory, or the members of
// an archive. Each group and array is a directory with a metadata file:
//
//   zarr.json                  version 3: a group or an array
//   .zgroup, .zarray, .zattrs  version 2: a group, an array, its attributes
//   c/0/1, 0.1                 the chunk of an array at these indices
#include "core/formats/zarr/zarr.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/container/elements.h"
#include "core/container/open.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

// Maximum number of arrays whose plans stay in memory. A plan takes some KiB.
constexpr size_t kKeptPlans = 256;

Error NoMetadata() {
  return {Code::kNotContainer,
          "not a container: no zarr.json, .zgroup or .zarray"};
}

/// Fails for a store of version 1.
Status RefuseV1(const Source& store, const Request& request) {
  const auto text = CTXFS_TRY(ReadText(store, "meta", request));
  if (!text) return {};
  const Result<MetadataText> meta = ReadMetadata(*text, request);
  const bool v1 = meta && CountAt(meta->root, "zarr_format") == uint64_t{1};
  if (!v1) return {};
  return Error{Code::kVersion, "version: zarr_format 1 is not read"};
}

/// Bytes that all arrays may have if their chunks have `found` bytes.
uint64_t JustifiedBy(uint64_t found) {
  const auto bytes = CheckedMul(found, kJustifiedPerByte);
  return AddUpTo(bytes.value_or(UINT64_MAX), kUnjustifiedBytes);
}

/// Whether the store is refused if its root is an array with this fault.
bool Refuses(const Error& fault) {
  return fault.code == Code::kCorrupt || fault.code == Code::kVersion;
}

}  // namespace

Status Store::Load(const ReadContext& context) {
  if (options_.archive != nullptr) WarnAll(options_.archive->warnings);
  // A search also finds the directory of this metadata file, and opens that as
  // the store.
  if (options_.found && !source()->is_directory() &&
      options_.archive == nullptr) {
    return NoMetadata();
  }
  std::optional<ReadNode> root = CTXFS_TRY(ReadNodeAt(*source(), "", context));
  if (!root) {
    CTXFS_TRY(RefuseV1(*source(), context));
    return NoMetadata();
  }
  if (root->node.fault) return *root->node.fault;
  root_ = root->node;
  CTXFS_TRY(LoadNodes(*std::move(root), context));
  if (root_.is_array && entries_[0].node.fault &&
      Refuses(*entries_[0].node.fault)) {
    return *entries_[0].node.fault;
  }
  CTXFS_TRY(JustifySizes(context));
  uint64_t bytes = 0;
  for (const Entry& entry : entries_) {
    AddStoredSize(entry.node.metadata_bytes);
    bytes = AddUpTo(bytes, entry.size);
  }
  // The work of a request is bounded by the stored size. A request may need all
  // chunks of an array, whose bytes have not been counted. So the sizes of
  // arrays count, which JustifySizes has limited.
  AddStoredSize(bytes / limits::kWorkFactor);
  WarnOfFaults();
  return {};
}

Status Store::LoadNodes(ReadNode root, const ReadContext& context) {
  std::optional<Consolidated> copy =
      CTXFS_TRY(ReadConsolidated(*source(), root, context));
  if (!copy || !source()->is_remote()) {
    return WalkNodes(std::move(root), std::move(copy), context);
  }
  CTXFS_TRY(AddNode(root, context));
  for (const ReadNode& read : NodesOf(*copy)) CTXFS_TRY(AddNode(read, context));
  return {};
}

Status Store::WalkNodes(ReadNode root, std::optional<Consolidated> copy,
                        const ReadContext& context) {
  bool stale = false;
  const auto add = [&](const ReadNode& read) {
    stale = (copy && !TakeEqual(read, *copy)) || stale;
    return AddNode(read, context);
  };
  CTXFS_TRY(add(root));
  const UseEntry use = [&](const std::string& path, const DirectoryEntry& entry,
                           size_t depth) -> Result<bool> {
    if (depth >= kMaxDepth) return OverLimit("levels of groups are", kMaxDepth);
    if (!entry.directory) return false;
    const std::optional<ReadNode> read =
        CTXFS_TRY(ReadNodeAt(*source(), path, context));
    if (!read) return false;
    CTXFS_TRY(add(*read));
    return !read->node.is_array && !read->node.fault;
  };
  if (!root.node.is_array) CTXFS_TRY(WalkStore(*source(), "", use, context));
  if (stale || (copy && !NodesOf(*copy).empty())) {
    Warn(
        {"consolidated: the copy of the metadata at the root differs from the "
         "groups and arrays that are there, which are shown"});
  }
  return {};
}

Status Store::AddNode(const ReadNode& read, const ReadContext& context) {
  mixed_ = mixed_ || read.also_v2;
  if (read.node.path.empty() && !read.node.is_array) return {};
  if (entries_.size() == kMaxNodes) {
    return OverLimit("groups and arrays are", kMaxNodes);
  }
  CTXFS_TRY(AdmitGrowth(entries_));
  Entry entry;
  entry.node = read.node;
  arrays_ += entry.node.is_array ? 1 : 0;
  if (entry.node.is_array && !entry.node.fault) {
    CTXFS_TRY(SetArray(read, entry, context));
  }
  entries_.push_back(std::move(entry));
  return {};
}

Status Store::SetArray(const ReadNode& read, Entry& entry,
                       const ReadContext& context) {
  Result<ArrayPlan> made = PlanOf(read.node, read.metadata.root);
  if (!made) {
    Error fault = Within(read.node.MetadataPath(), std::move(made).error());
    if (fault.code == Code::kLimit) fault.sys_errno = EFBIG;
    entry.node.fault = std::move(fault);
    return {};
  }
  CTXFS_TRY(GuessSeparator(read.node.path, *made, context));
  const auto plan = std::make_shared<const ArrayPlan>(*std::move(made));
  entry.size = plan->size;
  entry.weight = plan->Weight();
  entry.separator = plan->separator;
  entry.number = plan->type.kind == ElementType::Kind::kNumber;
  entry.verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  if (plan->type.lines()) entry.text = ArrayLines(ReaderOf(entry, plan));
  if (entries_.size() < kKeptPlans) entry.plan = plan;
  return {};
}

Status Store::GuessSeparator(const std::string& path, ArrayPlan& plan,
                             const ReadContext& context) {
  if (!plan.separator_guessed || plan.shape.size() < 2) return {};
  const std::string first = path.empty() ? "0" : path + "/0";
  const auto nested = source()->OpenDirectoryBeside(first, context);
  if (!nested) {
    return nested.error().Permanent() || source()->is_remote()
               ? Status()
               : Status(nested.error());
  }
  const auto names = CTXFS_TRY(ListStore(*source(), path, context));
  const bool flat = std::ranges::any_of(names, [](const DirectoryEntry& one) {
    return !one.directory && one.name.find('.') != std::string::npos &&
           one.name.find_first_not_of("0123456789.") == std::string::npos;
  });
  if (flat) return {};
  plan.separator = '/';
  if (!std::exchange(guessed_, true)) {
    Warn({"separator: the metadata of " + Quote(path.empty() ? "array" : path) +
          " does not say what separates the indices of a chunk, and its chunks "
          "are in directories"});
  }
  return {};
}

Status Store::JustifySizes(const ReadContext& context) {
  uint64_t total = 0;
  std::vector<uint32_t> largest;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    total = AddUpTo(total, entries_[i].weight);
    if (entries_[i].size > 0) largest.push_back(i);
  }
  if (total <= kUnjustifiedBytes) return {};
  std::ranges::stable_sort(largest, std::ranges::greater(),
                           [this](uint32_t i) { return entries_[i].weight; });
  uint64_t found = 0;
  for (size_t i = 0; i < largest.size() && total > JustifiedBy(found); ++i) {
    const uint64_t missing =
        (total - JustifiedBy(found)) / kJustifiedPerByte + 1;
    found += CTXFS_TRY(BytesBelow(*source(), entries_[largest[i]].node.path,
                                  missing, context));
  }
  RefuseSparse(largest, found);
  return {};
}

void Store::RefuseSparse(const std::vector<uint32_t>& largest, uint64_t found) {
  // Keeps the smallest arrays. Adds up from the smallest, because the sum of
  // all may not fit into 64 bits.
  size_t refused = largest.size();
  for (uint64_t kept = 0; refused > 0; --refused) {
    kept = AddUpTo(kept, entries_[largest[refused - 1]].weight);
    if (kept > JustifiedBy(found)) break;
  }
  for (size_t i = 0; i < refused; ++i) {
    Entry& entry = entries_[largest[i]];
    Error fault = OverLimit(
        fmt::format("sparse: {} bytes in chunks that count as {}, for which {} "
                    "bytes are there, are",
                    entry.size, entry.weight, found),
        JustifiedBy(found));
    fault.sys_errno = EFBIG;
    if (i == 0) Warn({Quote(NameOf(largest[i])) + ": " + fault.what});
    entry.node.fault = std::move(fault);
    entry.size = 0;
    entry.text = nullptr;
  }
}

void Store::WarnOfFaults() {
  if (mixed_) {
    Warn(
        {"two_formats: a directory has metadata of version 2 and of version "
         "3, which counts"});
  }
  uint64_t faults = 0;
  uint32_t first = 0;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    const std::optional<Error>& fault = entries_[i].node.fault;
    if (!fault || fault->what.starts_with("sparse")) continue;
    if (faults++ == 0) first = i;
  }
  if (faults == 0) return;
  Warn({fmt::format("{} of {} groups and arrays cannot be read; the first is "
                    "{}: {}",
                    faults, entries_.size(), Quote(NameOf(first)),
                    entries_[first].node.fault->what),
        kNoOffset, Severity::kOfEntries});
}

Result<Store::PlanPtr> Store::PlanOfEntry(const Entry& entry,
                                          const Request& request) const {
  if (entry.node.fault) return *entry.node.fault;
  if (entry.plan != nullptr) return entry.plan;
  const Error changed{Code::kStale, "the metadata of the array has changed"};
  const auto text =
      CTXFS_TRY(ReadText(*source(), entry.node.MetadataPath(), request));
  if (!text) return changed;
  const Result<MetadataText> metadata = ReadMetadata(*text, request);
  if (!metadata) return changed;
  Result<ArrayPlan> plan = PlanOf(entry.node, metadata->root);
  if (!plan || plan->size != entry.size) return changed;
  plan->separator = entry.separator;
  return PlanPtr(std::make_shared<const ArrayPlan>(*std::move(plan)));
}

std::shared_ptr<const ChunkReader> Store::ReaderOf(const Entry& entry,
                                                   PlanPtr plan) const {
  return std::make_shared<const ChunkReader>(
      files_, entry.node.path, std::move(plan), entry.owner, entry.verdict);
}

Result<Content> Store::Open(uint32_t number, const ReadContext& context) const {
  const Entry& entry = entries_[number];
  if (entry.node.fault) return *entry.node.fault;
  if (entry.text != nullptr) return entry.text->Open(0, context);
  PlanPtr plan = CTXFS_TRY(PlanOfEntry(entry, context));
  return ArrayContent(ReaderOf(entry, std::move(plan)));
}

namespace {

bool Probe(Bytes /*head*/) { return false; }

bool StartsAsMetadata(const Source& file, const Request& request,
                      uint64_t probed = 4 * limits::kKiB) {
  const Result<Buffer> start =
      ReadBuffer(file, 0, std::min(file.size(), probed), "metadata", request);
  if (!start) return false;
  const std::string_view text = AsText(start->span());
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"zarr_format\"") != std::string_view::npos;
}

/// Whether a directory has a file with a name of metadata files whose first
/// `probed` bytes look like metadata.
bool HasNode(const Source& directory, const Request& request, uint64_t probed) {
  constexpr const char* kNames[] = {kV3Name, kV2Group, kV2Array};
  return std::ranges::any_of(kNames, [&](const char* name) {
    const Result<SourcePtr> file = directory.OpenBeside(name, request);
    return file && StartsAsMetadata(**file, request, probed);
  });
}

bool IsNode(const Source& directory, const Request& request) {
  return HasNode(directory, request, 4 * limits::kKiB);
}

/// Examines 1 MiB, because metadata may begin with long attributes, and files
/// of other programs may be called zarr.json.
bool HasMetadata(const Source& directory, const Request& request) {
  return HasNode(directory, request, limits::kMiB) ||
         !RefuseV1(directory, request).has_value();
}

/// Whether a file is metadata of a store, by its name and, except for
/// .zmetadata, by its start.
bool IsMetadata(const Source& file, const Request& request) {
  if (file.is_directory()) return false;
  const std::string name = file.name();
  const bool named = name == kV3Name || name == kV2Group || name == kV2Array ||
                     name == kV2Consolidated;
  return named && (name == kV2Consolidated || StartsAsMetadata(file, request));
}

}  // namespace

}  // namespace ctxfs::zarr

namespace ctxfs {

extern const Format kZarr{
    .name = "zarr",
    .contents = "stores of arrays in chunks, versions 2 and 3",
    .extensions = "zarr",
    .golden = "zarr",
    .docs = "zarr",
    .probe = &zarr::Probe,
    .open = &OpenAs<zarr::Store>,
    .resembles_source = &zarr::IsMetadata,
    .probe_directory = &zarr::IsNode,
    .resembles_directory = &zarr::HasMetadata,
    .archive_files = "zarr.json .zgroup .zarray",
    .traits = {.stays_file = true,
               .opens_neighbours = true,
               .optional_checksums = true}};

}  // namespace ctxfs
