// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/namespace.h"

#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/container/unreadable.h"
#include "core/io/descriptors.h"
#include "core/io/directory.h"
#include "core/tree/free_names.h"
#include "core/vfs/log.h"
#include "core/vfs/open_container.h"

namespace ctxfs {
namespace {

constexpr std::string_view kOwnDirectory = ".ctxfs";

std::vector<OwnFile> FlatStats(OwnFile stats) {
  if (stats.path.empty()) return {};
  stats.path = std::string(kOwnDirectory) + "/" + stats.path;
  return {std::move(stats)};
}

/// The name of our directory at the root: one that `mirror` does not have.
std::string OwnName(Mirror& mirror) {
  return FreeNames().Find({.name = kOwnDirectory},
                          [&](const std::string& name) {
                            const Result<std::optional<Mirror::Node>> found =
                                mirror.Lookup(Namespace::kRoot, name);
                            if (!found || !*found) return false;
                            mirror.Forget((*found)->inode, 1);
                            return true;
                          });
}

}  // namespace

Namespace::Namespace(const std::shared_ptr<const Container>& container,
                     std::string_view name, const OwnFile& stats,
                     const OpenOptions& options, const Grafts::Hang& hang)
    : options_(options),
      make_top_(
          [extra = name.empty() ? FlatStats(stats) : std::vector<OwnFile>{},
           hang](const std::shared_ptr<const Container>& shown) {
            return std::make_shared<const Branch>(
                shown, extra,
                hang == nullptr ? std::vector<SubContainer>{} : hang(shown));
          }),
      top_(make_top_(container)),
      own_(name, name.empty() || stats.path.empty() ? "" : kOwnDirectory,
           stats),
      grafts_(limits::kOpenContainers, hang) {}

Namespace::Namespace(std::unique_ptr<Mirror> mirror, const OwnFile& stats,
                     const OpenOptions& options, const Grafts::Hang& hang)
    : options_(options),
      mirror_(std::move(mirror)),
      own_("", stats.path.empty() ? "" : OwnName(*mirror_), stats),
      grafts_(limits::kOpenContainers, hang) {}

// Inodes below 2^32: 1 is the mount's root; then the rest of its own files;
// then the top branch's nodes but for its root, which is the directory it hangs
// at. Above: a graft's number, then the node's. With the highest bit: mirrored.
Result<Namespace::Place> Namespace::Find(Inode inode,
                                         const ReadContext& context) const {
  const auto number = static_cast<Grafts::Number>(inode >> kGraftShift);
  if (number != 0) {
    Result<Place> place = RootOf(number, context);
    if (place) place->node = static_cast<NodeId>(inode);
    return place;
  }
  const uint64_t index = inode - kRoot;
  if (index < own_.node_count()) {
    const auto node = static_cast<NodeId>(index);
    if (mirror_ == nullptr && node == own_.container_node()) {
      const std::shared_ptr<const Branch> top = Top();
      return Place{top.get(), Files::kRoot, 0, top};
    }
    return Place{&own_, node, 0, nullptr};
  }
  const std::shared_ptr<const Branch> top = Top();
  return Place{top.get(), static_cast<NodeId>(index - own_.node_count() + 1), 0,
               top};
}

Result<Namespace::Place> Namespace::RootOf(Grafts::Number number,
                                           const ReadContext& context) const {
  const std::optional<Grafts::Graft> graft = grafts_.Find(number);
  if (!graft) return Error{Code::kStale, "the container is there no more"};
  Place place{nullptr, Files::kRoot, number, Top()};
  if (graft->open != nullptr || graft->within != 0) {
    Result<std::shared_ptr<const Branch>> branch = grafts_.Get(number, context);
    if (!branch) return std::move(branch).error();
    place.branch = std::move(*branch);
  }
  place.files = graft->open != nullptr ? place.branch.get()
                                       : place.branch->Numbered(graft->node);
  return place;
}

Inode Namespace::InodeOf(const Place& place) const {
  if (place.graft != 0 && place.node == Files::kRoot) {
    const std::optional<Grafts::Graft> graft = grafts_.Find(place.graft);
    return graft ? graft->at : kRoot;
  }
  if (place.graft != 0) return Inode{place.graft} << kGraftShift | place.node;
  if (place.branch == nullptr) return kRoot + place.node;
  if (place.node == Files::kRoot) return kRoot + own_.container_node();
  return kRoot + own_.node_count() + place.node - 1;
}

Result<Namespace::Directory> Namespace::Enter(
    Place place, const ReadContext& context) const {
  const bool container = place.files->Hanging(place.node) != nullptr;
  if (!container && place.files->Numbered(place.node) == nullptr) {
    return Directory{std::move(place), std::nullopt};
  }
  const std::optional<Grafts::Graft> outer = grafts_.Find(place.graft);
  Grafts::Graft graft{InodeOf(place), place.graft, outer ? outer->depth + 1 : 1,
                      place.node, nullptr};
  if (container) {
    graft.open = [this, within = place.graft, node = place.node,
                  depth = graft.depth](const ReadContext& request) {
      return OpenHanging(within, node, depth, request);
    };
  }
  Result<Place> root = RootOf(grafts_.Add(std::move(graft)), context);
  if (!root) return std::move(root).error();
  Directory directory{std::move(*root), std::nullopt};
  if (place.files->ChildCount(place.node) > 0) {
    directory.around = std::move(place);
  }
  return directory;
}

Result<Namespace::Place> Namespace::EnterContainer(
    const Mirror::Node& node, const ReadContext& context) const {
  const Grafts::Number number =
      grafts_.Add({node.inode, 0, 0, Files::kRoot,
                   [this, inode = node.inode](const ReadContext& request) {
                     return OpenMirroredContainer(inode, request);
                   }});
  Result<Place> root = RootOf(number, context);
  if (!root && grafts_.IsLost(number)) mirror_->Retire(node.inode);
  return root;
}

Result<std::optional<Namespace::Directory>> Namespace::DirectoryAt(
    Inode inode, const ReadContext& context) const {
  std::optional<Directory> directory;
  if (!IsMirroredDirectory(inode)) {
    Result<Place> place = Find(inode, context);
    if (!place) return std::move(place).error();
    Result<Directory> entered = Enter(std::move(*place), context);
    if (!entered) return std::move(entered).error();
    directory = std::move(*entered);
    return directory;
  }
  if (inode == kRoot) return directory;
  const Result<Mirror::Found> found = mirror_->Find(inode);
  if (!found) return found.error();
  if (found->node.kind != Kind::kContainer) return directory;
  Result<Place> root = EnterContainer(found->node, context);
  if (!root) return std::move(root).error();
  directory = Directory{std::move(*root), std::nullopt};
  return directory;
}

// What is damaged is shown as such, with the reason; what may be sound when it
// is tried again is an error now.
Result<std::shared_ptr<const Container>> Namespace::Unreadable(
    std::shared_ptr<const Source> source, Error reason) const {
  if (!reason.Permanent()) return reason;
  return UnreadableContainer(std::move(source), std::move(reason));
}

Result<std::shared_ptr<const Container>> Namespace::OpenMirroredContainer(
    Inode inode, const ReadContext& context) const {
  const Result<Mirror::Found> found = mirror_->Find(inode);
  if (!found) return found.error();
  Result<std::shared_ptr<const Source>> source =
      OpenSource(found->fd.proc_path(), options_.source_options());
  if (!source) return std::move(source).error();
  Work work = work_limit_.On((*source)->stored_size());
  Result<std::shared_ptr<const Container>> container =
      OpenRecorded(*source, options_, context.With(work));
  if (container || container.error().code == Code::kInterrupted) {
    return container;
  }
  Log(LogLevel::kWarning,
      Quote(mirror_->PathOf(inode)) + ": " + container.error().Text());
  return Unreadable(*source, std::move(container).error());
}

Result<std::shared_ptr<const Container>> Namespace::OpenHanging(
    Grafts::Number within, NodeId node, unsigned depth,
    const ReadContext& context) const {
  Result<std::shared_ptr<const Branch>> outer = Top();
  if (within != 0) outer = grafts_.Get(within, context);
  if (!outer) return std::move(outer).error();
  Work work = work_limit_.On((*outer)->container().StoredSize());
  const ReadContext bounded = context.With(work);
  const SubContainer& hanging = *(*outer)->Hanging(node);
  if (hanging.open != nullptr) return hanging.open(bounded);
  Result<std::shared_ptr<const Source>> source = hanging.open_source(bounded);
  if (!source) return Unreadable(nullptr, std::move(source).error());
  if (depth > limits::kContainerDepth) {
    return Unreadable(*source,
                      {Code::kLimit, "containers within containers end here"});
  }
  Result<std::shared_ptr<const Container>> container =
      OpenRecorded(*source, options_, bounded);
  if (container) return container;
  return Unreadable(*source, std::move(container).error());
}

std::optional<Namespace::Found> Namespace::LookupOwn(
    std::string_view name) const {
  const std::optional<NodeId> node = own_.Lookup(Files::kRoot, name);
  if (!node) return std::nullopt;
  return Found{kRoot + *node, {true, false, 0, mirror_->mtime_ns()}};
}

Result<std::optional<Namespace::Found>> Namespace::LookupMirrored(
    Inode directory, std::string_view name) const {
  const Result<std::optional<Mirror::Node>> node =
      mirror_->Lookup(directory, name);
  if (!node) return node.error();
  if (*node) return std::optional(Found{(*node)->inode, ExamineNode(**node)});
  return directory == kRoot ? LookupOwn(name) : std::optional<Found>();
}

Result<std::optional<Namespace::Found>> Namespace::LookupOnce(
    Inode directory, std::string_view name, const ReadContext& context) const {
  Result<std::optional<Directory>> at = DirectoryAt(directory, context);
  if (!at) return std::move(at).error();
  if (!*at) return LookupMirrored(directory, name);
  Place place = std::move((*at)->inside);
  std::optional<NodeId> node;
  if (const std::optional<Place>& around = (*at)->around) {
    node = around->files->Lookup(around->node, name);
    if (node) place = *around;
  }
  if (!node) node = place.files->Lookup(place.node, name);
  if (!node) return std::optional<Found>();
  place.node = *node;
  Work work = WorkAt(place);
  const ReadContext bounded = context.With(work);
  const Result<bool> exists =
      place.files->Exists(*node, /*listing=*/false, bounded);
  if (!exists) return exists.error();
  if (!*exists) return std::optional<Found>();
  const Result<Attributes> attributes = ExamineAt(place, bounded);
  if (!attributes) return attributes.error();
  return std::optional(Found{InodeOf(place), *attributes});
}

void Namespace::Forget(Inode inode, uint64_t count) {
  if (IsMirrored(inode) && mirror_ != nullptr &&
      mirror_->Forget(inode, count)) {
    grafts_.Drop(inode);
  }
}

Lifetime Namespace::NamesLast(Inode directory) const {
  return IsMirroredDirectory(directory) ? Lifetime::kMoment
                                        : Lifetime::kForever;
}

// Of what is made in memory: what holds of the file that it was made from.
template <typename Ask>
auto Namespace::FromStore(const Place& place, const Ask& ask,
                          const ReadContext& context) const
    -> decltype(ask(std::declval<const Source&>())) {
  using Answer = decltype(ask(std::declval<const Source&>()));
  if (place.branch != nullptr) {
    if (Answer own = ask(*place.branch->container().source())) return own;
  }
  const std::optional<Grafts::Graft> graft = grafts_.Find(place.graft);
  if (graft && graft->within != 0) {
    const Result<Place> outer = RootOf(graft->within, context);
    return outer ? FromStore(*outer, ask, context) : Answer();
  }
  const std::shared_ptr<const Branch> top = Top();
  return top != nullptr ? ask(*top->container().source()) : Answer();
}

int64_t Namespace::MtimeOf(const Place& place,
                           const ReadContext& context) const {
  const int64_t found = FromStore(
      place, [](const Source& source) { return source.mtime_ns(); }, context);
  return found == 0 && mirror_ != nullptr ? mirror_->mtime_ns() : found;
}

std::optional<Permissions> Namespace::PermissionsOf(
    const Place& place, const ReadContext& context) const {
  if (place.branch == nullptr) {
    // The mount's own files, but for the directory its container hangs at.
    const std::shared_ptr<const Branch> top = Top();
    const bool hangs = top != nullptr && place.node == own_.container_node();
    if (!hangs) return std::nullopt;
    return PermissionsOf({top.get(), Files::kRoot, 0, top}, context);
  }
  const std::optional<Readers> readers = FromStore(
      place, [](const Source& source) { return source.readers(); }, context);
  // A container that no file is behind: for nobody, to be safe.
  if (!readers) return Permissions{};
  const bool directory = place.files->IsDirectory(place.node);
  return Permissions{readers->uid, readers->gid,
                     readers->bits | (directory ? readers->bits >> 2 : 0)};
}

Result<Attributes> Namespace::ExamineAt(const Place& place,
                                        const ReadContext& context) const {
  Attributes attributes;
  attributes.mtime_ns = MtimeOf(place, context);
  attributes.permissions = PermissionsOf(place, context);
  attributes.directory = place.files->IsDirectory(place.node);
  if (attributes.directory) return attributes;
  const Result<uint64_t> size = place.files->Size(place.node, context);
  if (!size) return size.error();
  attributes.size = *size;
  attributes.locked = place.files->IsLocked(place.node);
  if (place.files->IsLive(place.node)) attributes.lifetime = Lifetime::kNone;
  return attributes;
}

Attributes Namespace::ExamineNode(const Mirror::Node& node) const {
  const bool file = node.kind == Kind::kFile;
  return {!file,
          false,
          file ? node.identity.size : 0,
          node.identity.mtime_ns,
          Lifetime::kMoment,
          node.permissions};
}

Result<Attributes> Namespace::Examine(Inode inode,
                                      const ReadContext& context) const {
  if (IsMirroredDirectory(inode) && inode == kRoot) {
    return Attributes{true,
                      false,
                      0,
                      mirror_->mtime_ns(),
                      Lifetime::kMoment,
                      mirror_->RootPermissions()};
  }
  if (IsMirrored(inode) && mirror_ != nullptr) {
    const Result<Mirror::Found> found = mirror_->Find(inode);
    if (!found) return found.error();
    return ExamineNode(found->node);
  }
  const Result<Place> place = Find(inode, context);
  if (!place) return place.error();
  Work work = WorkAt(*place);
  return ExamineAt(*place, context.With(work));
}

Inode Namespace::Parent(Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode) && mirror_ != nullptr) return mirror_->Parent(inode);
  Result<Place> place = Find(inode, context);
  if (!place) return kRoot;
  if (place->branch != nullptr && place->graft == 0 &&
      place->node == Files::kRoot) {
    return kRoot + own_.Parent(own_.container_node());
  }
  place->node = place->files->Parent(place->node);
  return InodeOf(*place);
}

Work Namespace::WorkAt(const Place& place) const {
  if (place.branch == nullptr) return work_limit_.On(0);
  return work_limit_.On(place.branch->container().StoredSize());
}

Result<Namespace::OpenFile> Namespace::OpenMirrored(Inode inode) const {
  const Result<Mirror::Found> found = mirror_->Find(inode);
  if (!found) return found.error();
  // Containers that nobody uses go first.
  while (!Descriptors::HaveRoom(1) && grafts_.CloseOldest()) {
  }
  if (!Descriptors::HaveRoom(1)) {
    return Error{Code::kTooManyFiles,
                 "not opened: " + std::to_string(Descriptors::held()) +
                     " files are open, which is all that the daemon's limit "
                     "on descriptors allows"};
  }
  const Result<std::shared_ptr<const FileSource>> source =
      FileSource::Open(found->fd.proc_path(), options_.source_options());
  if (!source) return source.error();
  OpenFile file;
  file.source = *source;
  file.content.Append(Range{*source, 0, nullptr}, (*source)->size());
  file.lifetime = Lifetime::kMoment;
  file.same_pages = mirror_->WasOpenedAs(inode, (*source)->identity());
  return file;
}

Result<Namespace::OpenFile> Namespace::OpenOnce(
    Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode) && mirror_ != nullptr) return OpenMirrored(inode);
  const Result<Place> place = Find(inode, context);
  if (!place) return place.error();
  if (place->branch != nullptr) {
    const Source& source = *place->branch->container().source();
    if (Status fresh = source.CheckUnchanged(); !fresh) {
      return std::move(fresh).error();
    }
  }
  Work work = WorkAt(*place);
  Result<Content> content =
      place->files->Open(place->node, context.With(work));
  if (!content) return std::move(content).error();
  OpenFile file{std::move(*content)};
  file.branch = place->branch;
  file.pages = PagesOf(*place);
  file.same_pages = file.pages.good;
  if (place->branch != nullptr) {
    file.stored_size = place->branch->container().StoredSize();
  }
  if (place->files->IsLive(place->node)) {
    file.lifetime = Lifetime::kNone;
    file.same_pages = false;
  }
  if (const auto entry = place->files->Entry(place->node)) {
    file.container = place->branch->shared_container();
    file.entry = *entry;
  }
  return file;
}

Result<std::optional<EntryInfo>> Namespace::Describe(
    Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode)) return std::optional<EntryInfo>();
  Result<Place> place = Find(inode, context);
  if (!place) return place.error();
  if (place->files->IsDirectory(place->node)) return std::optional<EntryInfo>();
  // What was verified before a change of ctime is not verified now.
  if (place->branch != nullptr &&
      !place->branch->container().source()->CheckUnchanged() &&
      Renew(inode, context)) {
    place = Find(inode, context);
    if (!place) return place.error();
  }
  return place->files->Describe(place->node);
}

std::string Namespace::PathInContainer(Inode inode,
                                       const ReadContext& context) const {
  const Result<Place> place = Find(inode, context);
  if (!place) return {};
  const std::optional<Grafts::Graft> graft = grafts_.Find(place->graft);
  std::string path = place->files->Path(place->node);
  if (!graft) return path;
  // Numbered files and views are in no container of their own.
  if (graft->open != nullptr && place->branch->container().HasAbout()) {
    return path;
  }
  return PathInContainer(graft->at, context) + "/" + path;
}

std::string Namespace::Path(Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode)) return mirror_ ? mirror_->PathOf(inode) : "";
  const auto number = static_cast<Grafts::Number>(inode >> kGraftShift);
  const std::optional<Grafts::Graft> graft = grafts_.Find(number);
  if (!graft) return PathInContainer(inode, context);
  std::string within = Path(graft->at, context);
  const Result<Place> place = Find(inode, context);
  if (!place) return within;
  return within + "/" + place->files->Path(place->node);
}

Grafts::Totals Namespace::Totals() const {
  Grafts::Totals totals = grafts_.Sum();
  if (const std::shared_ptr<const Branch> top = Top()) {
    totals = {totals.containers + 1, top->NodeCount() - 1, top->TotalSize(),
              totals.hung};
  }
  totals.nodes += own_.node_count() + totals.hung;
  return totals;
}

}  // namespace ctxfs
