// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/diff_side.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/human_size.h"
#include "core/container/complete.h"
#include "core/container/facts/model_files.h"
#include "core/container/unreadable.h"
#include "core/io/urls/url.h"
#include "core/views/arrays/converted.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "fs/commands/confine.h"
#include "fs/commands/named_files.h"
#include "fs/common/mount_table.h"

namespace ctxfs {
namespace {

constexpr uint64_t kCacheBytes = 128 * limits::kMiB;
/// Maximum memory of the entries of one side.
constexpr uint64_t kMaxEntryBytes = limits::kGiB;
constexpr std::string_view kArraySuffix = ".npy";
constexpr std::string_view kBesideSuffix = "~dir";

/// The arrays of a container with the values and names that a model uses.
std::vector<ArrayInfo> ArraysOf(const Container& container,
                                const ReadContext& context) {
  const Exports exports = container.Export();
  std::vector<ArrayInfo> arrays;
  if (exports.weights != nullptr) {
    Result<std::vector<ArrayInfo>> weights = exports.weights(context);
    if (weights) arrays = *std::move(weights);
  }
  if (arrays.empty() && exports.arrays != nullptr) {
    arrays = exports.arrays(context);
  }
  std::erase_if(arrays, [](const ArrayInfo& one) { return !IsUsual(one); });
  return arrays;
}

uint64_t HeapOf(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() + 16 : 0;
}

/// Memory of an entry in DiffSide::Entries, in bytes.
uint64_t MemoryOf(const std::string& key, const DiffEntry& entry) {
  constexpr uint64_t kNode = sizeof(DiffSide::Entries::value_type) + 48;
  return kNode + HeapOf(key) + HeapOf(entry.path) + HeapOf(entry.file.path) +
         HeapOf(entry.dtype) + HeapOf(entry.codec) + HeapOf(entry.checksum) +
         entry.shape.capacity() * sizeof(uint64_t) +
         (entry.error ? HeapOf(entry.error->what) : 0);
}

std::string_view Without(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size())
                                : text;
}

}  // namespace

std::string WithoutMount(const std::string& operand) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path path = fs::canonical(operand, failed);
  if (IsUrl(operand) || failed) return operand;
  // The topmost mount at a point is the last.
  std::optional<MountEntry> around;
  for (MountEntry& mount : MountTable()) {
    const fs::path inside = path.lexically_relative(mount.point);
    if (!inside.empty() && *inside.begin() != "..") around = std::move(mount);
  }
  if (!around || around->type != kMountType || IsUrl(around->source) ||
      !fs::exists(around->source, failed)) {
    return operand;
  }
  fs::path below = path.lexically_relative(around->point);
  if (below == ".") below.clear();
  // Without -o flat, a container is shown in a directory of its name.
  const fs::path name = fs::path(around->source).filename();
  const bool flat = fs::is_directory(around->source, failed) ||
                    !fs::exists(fs::path(around->point) / name, failed);
  if (!flat && !below.empty()) {
    if (*below.begin() != name) return operand;
    below = below.lexically_relative(name);
    if (below == ".") below.clear();
  }
  return below.empty() ? around->source
                       : around->source + "//" + below.string();
}

bool DiffEntry::has_stored_elements() const {
  return array != nullptr && DTypeName(array->dtype) == dtype;
}

const ArrayInfo* DiffSide::Scope::Find(std::string_view name) const {
  for (const std::string_view one : {name, Without(name, kArraySuffix)}) {
    const auto found = by_name.find(one);
    if (found != by_name.end()) return found->second;
  }
  return nullptr;
}

DiffSide::DiffSide(const Arguments& arguments)
    : arguments_(arguments), spill_file_(OpenSpillFile()) {}

Status DiffSide::Open(const std::string& operand) {
  const Target target = ParseTarget(operand);
  tree_ = CTXFS_TRY(
      SourceTree::Open(target.source, arguments_.open, AllViews(),
                       ListMode::kPrimary, LeavingLinks::kFollowed,
                       {.cache_bytes = kCacheBytes, .logs_damage = false}));
  tree_->cache().SpillTo(spill_file_);
  SourceTree::File top = CTXFS_TRY(FindNamed(*tree_, target.path));
  if (auto inside = CTXFS_TRY(Inside(top))) top = *std::move(inside);
  top_ = top.path;
  Scope* const around = CTXFS_TRY(ScopeAround(top_));
  if (around != nullptr) {
    format_ = around->format;
    container_ = around->container;
    if (top.directory) CTXFS_TRY(NoteIncomplete(*around));
  }
  return top.directory ? Walk(top, around) : AddFile(top, around);
}

bool DiffSide::Rename(const std::string& name, const std::string& to) {
  if (entries_.contains(to)) return false;
  auto node = entries_.extract(name);
  node.key() = to;
  entries_.insert(std::move(node));
  return true;
}

void DiffSide::Convert(const HubArray& how) {
  if (how.heads == 0 && how.added == 0) return;
  DiffEntry& entry = entries_.find(how.name)->second;
  std::optional<ArrayInfo> array;
  if (entry.array != nullptr) array = Converted(*entry.array, how);
  entry.converted = true;
  entry.array = array ? &converted_.emplace_back(*std::move(array)) : nullptr;
}

Result<Content> DiffSide::OpenFile(const DiffEntry& entry) const {
  if (entry.table != nullptr) return entry.table->Open(entry.number, context());
  ctxfs::OpenFile opened = CTXFS_TRY(tree_->Open(entry.file));
  return std::move(opened.content);
}

Result<DiffSide::Scope*> DiffSide::ScopeAt(const SourceTree::File& directory) {
  const auto known = scopes_.find(directory.path);
  if (known != scopes_.end()) return known->second.get();
  Result<std::shared_ptr<const Container>> container =
      tree_->ContainerAt(directory);
  if (!container) {
    if (container.error().code == Code::kNotContainer) return nullptr;
    return container.error();
  }
  auto scope = std::make_unique<Scope>();
  scope->path = directory.path;
  scope->container = *std::move(container);
  scope->error = WhyUnreadable(*scope->container);
  if (!scope->error) {
    scope->format = scope->container->FormatName(context());
  }
  scope->arrays = ArraysOf(*scope->container, context());
  for (const ArrayInfo& array : scope->arrays) {
    scope->by_name.emplace(array.name, &array);
  }
  return scopes_.emplace(directory.path, std::move(scope)).first->second.get();
}

Result<DiffSide::Scope*> DiffSide::ScopeAround(const std::string& path) {
  for (std::string at = path;; at.erase(at.find_last_of('/'))) {
    const SourceTree::File place = CTXFS_TRY(tree_->Find(at));
    Scope* const scope = place.directory ? CTXFS_TRY(ScopeAt(place)) : nullptr;
    if (scope != nullptr || at.empty()) return scope;
    if (at.find('/') == std::string::npos) at.insert(0, "/");
  }
}

Result<std::optional<SourceTree::File>> DiffSide::Inside(
    const SourceTree::File& file) {
  if (file.link) return std::optional<SourceTree::File>();
  Result<SourceTree::File> inside =
      file.directory ? file : tree_->FindInside(file);
  // A container that cannot be opened now must not be compared by its bytes.
  if (!inside && inside.error().code != Code::kNotFound) return inside.error();
  const Scope* const scope = inside ? CTXFS_TRY(ScopeAt(*inside)) : nullptr;
  if (scope == nullptr || scope->error) {
    return std::optional<SourceTree::File>();
  }
  return std::optional(*std::move(inside));
}

Status DiffSide::Walk(const SourceTree::File& directory, Scope* scope) {
  CTXFS_TRY(context().Check());
  if (Scope* const own = CTXFS_TRY(ScopeAt(directory)); own != nullptr) {
    if (own->error) return AddLost(directory.path, *own->error);
    scope = own;
    CTXFS_TRY(NoteIncomplete(*own));
  }
  if (scope == nullptr) return WalkPlain(directory);
  // Adds the documents only of a container that is the operand itself. Below a
  // directory, documents are files of the tree already.
  if (scope->path == directory.path && directory.path == top_) {
    AddDocuments(*scope);
  }
  return tree_->ForEach(
      directory,
      [&](const SourceTree::File& file) {
        return file.directory ? Walk(file, scope) : AddFile(file, scope);
      },
      [&](const std::string& path, const Error& error) {
        NoteLost(path, error);
      });
}

Status DiffSide::WalkPlain(const SourceTree::File& directory) {
  // Only when all files have been opened is it known which of them are parts of
  // a model.
  std::vector<Child> children;
  CTXFS_TRY(tree_->ForEach(
      directory,
      [&](const SourceTree::File& file) -> Status {
        // A container in a directory is compared by its entries; one that does
        // not parse, by its bytes.
        auto inside = Inside(file);
        CTXFS_TRY(context().Check());
        if (!inside) return AddLost(file.path, inside.error());
        if (*inside) CTXFS_TRY(NoteParts(file, **inside));
        children.push_back({file, *std::move(inside)});
        return {};
      },
      [&](const std::string& path, const Error& error) {
        NoteLost(path, error);
      }));
  for (const Child& child : children) CTXFS_TRY(WalkChild(child));
  return {};
}

Status DiffSide::WalkChild(const Child& child) {
  const auto part = parts_.find(child.file.path);
  // Manifests may name each other; then both are compared.
  const bool is_part =
      part != parts_.end() && !wholes_.contains(child.file.path);
  const HasParts* const whole = is_part ? part->second : nullptr;
  if (whole != nullptr && whole->ShowsWholeParts()) return {};
  if (child.inside) {
    Scope* const scope = CTXFS_TRY(ScopeAt(*child.inside));
    if (scope != nullptr) scope->whole = whole;
    return Walk(*child.inside, nullptr);
  }
  return child.file.directory ? Walk(child.file, nullptr)
                              : AddFile(child.file, nullptr);
}

Status DiffSide::NoteParts(const SourceTree::File& file,
                           const SourceTree::File& inside) {
  const Scope* const scope = CTXFS_TRY(ScopeAt(inside));
  if (scope == nullptr) return {};
  const auto* const whole =
      dynamic_cast<const HasParts*>(scope->container.get());
  if (whole == nullptr) return {};
  const size_t name = file.path.size() - file.name().size();
  const std::vector<std::string> parts = whole->PartsBeside(context());
  CTXFS_TRY(context().Check());
  if (!parts.empty()) wholes_.insert(file.path);
  for (const std::string& part : parts) {
    parts_.emplace(file.path.substr(0, name) + part, whole);
  }
  return {};
}

Status DiffSide::NoteIncomplete(Scope& scope) {
  if (scope.checked || scope.error) return {};
  scope.checked = true;
  const Status present = CheckPresent(*scope.container, context());
  if (present) return {};
  const Error& error = present.error();
  if (error.Exhausted() || error.code == Code::kInterrupted) return error;
  incomplete_.push_back({Below(scope.path), error});
  return {};
}

Status DiffSide::AddFile(const SourceTree::File& file, const Scope* scope) {
  DiffEntry entry{.path = Below(file.path), .file = file};
  std::string key = entry.path;
  if (!file.link) {
    const Result<std::optional<EntryInfo>> info = tree_->Describe(file);
    std::string name;
    if (info && *info) {
      const EntryInfo& known = **info;
      name = known.name.value_or("");
      entry.stored_size = known.stored_size;
      entry.codec = known.codec;
      entry.checksum = known.checksum;
      if (known.shape && !known.dtype.empty()) {
        entry.dtype = known.dtype;
        entry.shape = *known.shape;
      }
    }
    const Result<uint64_t> size = tree_->Size(file);
    if (size) entry.size = *size;
    if (!size) entry.error = size.error();
    if (scope != nullptr && scope->whole != nullptr && entry.is_array() &&
        scope->whole->ShowsArray(name)) {
      return {};
    }
    // A tensor whose file is missing may have no type.
    const bool tensor =
        entry.is_array() || (info && *info && (*info)->kind == "tensor");
    if (scope != nullptr && tensor) {
      entry.array = scope->Find(name);
      // If the operand is a directory or a file inside the container, arrays
      // are matched by path.
      const bool inside = scope->path.size() < top_.size();
      if (!inside && !name.empty()) {
        const std::string above = Below(scope->path);
        key = (above.empty() ? "" : above + "/") +
              std::string(Without(name, kArraySuffix));
      }
    }
  }
  return Add(std::move(key), std::move(entry));
}

void DiffSide::AddDocuments(const Scope& scope) {
  for (const Document& document : scope.container->Export().documents) {
    const std::string_view name = ModelFileName(document.role);
    if (name.empty()) continue;
    std::string key = Below(scope.path);
    key += (key.empty() ? "" : "/") + std::string(name);
    DiffEntry entry{
        .path = key, .table = document.table, .number = document.file};
    const Result<uint64_t> size =
        document.table->Size(document.file, context());
    if (size) entry.size = *size;
    if (!size) entry.error = size.error();
    (void)Add(std::move(key), std::move(entry));
  }
}

Status DiffSide::AddLost(const std::string& path, const Error& error) {
  return Add(Below(path), {.path = Below(path), .error = error});
}

Status DiffSide::Add(std::string key, DiffEntry entry) {
  entry_bytes_ += MemoryOf(key, entry);
  if (entry_bytes_ > kMaxEntryBytes) {
    return Error{Code::kLimit,
                 fmt::format("{} entries take {} of memory, which is the most "
                             "for those of one side",
                             entries_.size(), HumanSize(kMaxEntryBytes))};
  }
  // A key may be taken, because a document may also be a file of the tree or
  // have the name of an array. Then the path is the key.
  std::string path = entry.path;
  const auto [at, added] = entries_.try_emplace(key, entry);
  if (!added && key != path) entries_.try_emplace(path, std::move(entry));
  return {};
}

std::string DiffSide::Below(const std::string& path) const {
  std::string_view below = path;
  if (!top_.empty()) {
    below.remove_prefix(std::min(below.size(), top_.size()));
    if (below.starts_with('/')) below.remove_prefix(1);
  }
  std::string text(below);
  // Shows NAME~dir, the directory of the container NAME, as NAME.
  for (size_t at = 0; (at = text.find(kBesideSuffix, at)) != std::string::npos;
       ++at) {
    const size_t end = at + kBesideSuffix.size();
    if (end < text.size() && text[end] != '/') continue;
    text.erase(at, kBesideSuffix.size());
  }
  return text;
}

}  // namespace ctxfs
