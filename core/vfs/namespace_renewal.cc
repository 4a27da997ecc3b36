// SPDX-License-Identifier: Apache-2.0
//
// How a Namespace goes on after a change of ctime alone. A chmod, rename or
// link changes ctime, and so does a write after which mtime is set back. So the
// container is opened anew from the same file: nothing of it is verified any
// more, and nothing that was decoded is kept. If that reads other bytes than
// the first time, the container is another one, and stale.
#include <utility>
#include <vector>

#include "core/vfs/namespace.h"
#include "core/vfs/open_container.h"

namespace ctxfs {
namespace {

/// How often a file that keeps changing is opened anew for one request.
constexpr int kMostRenewals = 4;

template <typename T>
bool IsStale(const Result<T>& result) {
  return !result && result.error().code == Code::kStale;
}

}  // namespace

void Namespace::NoteOpened(Inode inode, const OpenFile& file) {
  if (file.source != nullptr) {
    mirror_->NoteOpened(inode, file.source->identity());
    return;
  }
  const MountedTree& tree = *file.tree;
  if (tree.branch == nullptr) return;
  attached_.NoteOpened(tree.number, tree.NodeOf(inode), file.pages);
}

void Namespace::GiveUp(Inode inode) const {
  constexpr size_t kMostGivenUp = 1000;
  const auto containers = ContainersOf(inode);
  if (containers.empty()) return;
  const MutexLock lock(mutex_);
  if (given_up_.size() >= kMostGivenUp) given_up_.clear();
  given_up_[containers.front()] = std::chrono::steady_clock::now();
}

bool Namespace::IsGivenUp(MountedContainers::Number number) const {
  constexpr std::chrono::seconds kMoment(1);
  const MutexLock lock(mutex_);
  const auto found = given_up_.find(number);
  return found != given_up_.end() &&
         std::chrono::steady_clock::now() - found->second < kMoment;
}

std::vector<MountedContainers::Number> Namespace::ContainersOf(
    Inode inode) const {
  auto number = static_cast<MountedContainers::Number>(inode >> 32);
  if (IsMirrored(inode)) number = attached_.NumberAt(inode).value_or(0);
  return attached_.Chain(number);
}

bool Namespace::Renew(Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode) && !mirror_->Find(inode)) return false;
  MountedContainers::Tree outermost;
  for (const MountedContainers::Number number : ContainersOf(inode)) {
    MountedContainers::Tree tree = attached_.Opened(number);
    if (tree == nullptr) continue;
    if (!tree->CheckUnchanged()) {
      return RenewOne(tree, /*lose=*/true, context);
    }
    if (outermost == nullptr) outermost = std::move(tree);
  }
  // The stale file may be one that the container names.
  if (outermost == nullptr || IsGivenUp(outermost->number)) return false;
  if (RenewOne(outermost, /*lose=*/false, context)) return true;
  // An interrupted renewal shows nothing: it is tried again.
  if (context.Check()) GiveUp(inode);
  return false;
}

bool Namespace::RenewOne(const MountedContainers::Tree& tree, bool lose,
                         const ReadContext& context) const {
  const MountedContainers::Number number = tree->number;
  MountedContainers::Reopen reopen;
  if (tree->outer == nullptr) {
    reopen = [&](const ReadContext& shared) {
      bool changed = false;
      auto opened = OpenAgain(*tree, changed, shared);
      if (changed && lose) attached_.Lose(number);
      return opened;
    };
  }
  const Status renewed = attached_.Renew(number, tree, reopen, lose, context);
  if (!renewed && IsMirrored(tree->at) && attached_.IsLost(number)) {
    mirror_->Retire(tree->at);
  }
  return renewed.has_value();
}

Result<std::shared_ptr<const Container>> Namespace::OpenAgain(
    const MountedTree& tree, bool& changed, const ReadContext& context) const {
  std::shared_ptr<const Source> source = tree.branch->container().source();
  Error error{Code::kIo, "the container keeps changing"};
  for (int i = 0; i < kMostRenewals; ++i) {
    Result<std::shared_ptr<const Source>> renewed = source->Renew();
    if (!renewed) {
      changed = renewed.error().code == Code::kStale;
      return std::move(renewed).error();
    }
    source = std::move(*renewed);
    Result<std::shared_ptr<const Container>> container =
        OpenRecorded(source, options_, context, [](const Error&) {});
    if (container) return container;
    error = std::move(container).error();
    if (error.code != Code::kStale) return error;
  }
  error.code = Code::kIo;  // it may be left alone the next time
  return error;
}

template <typename Act>
auto Namespace::Renewing(Inode inode, const ReadContext& context,
                         const Act& act) const -> decltype(act()) {
  auto outcome = act();
  for (int i = 0; IsStale(outcome) && Renew(inode, context); ++i) {
    if (i == kMostRenewals) {
      GiveUp(inode);
      break;
    }
    outcome = act();
  }
  if (Status wanted = context.Check(); IsStale(outcome) && !wanted) {
    return std::move(wanted).error();
  }
  return outcome;
}

Maybe<Namespace::Found> Namespace::Lookup(Inode directory,
                                          std::string_view name,
                                          const ReadContext& context) const {
  return Renewing(directory, context,
                  [&] { return LookupOnce(directory, name, context); });
}

Result<Attributes> Namespace::Examine(Inode inode,
                                      const ReadContext& context) const {
  return Renewing(inode, context, [&] { return ExamineOnce(inode, context); });
}

Result<Namespace::OpenFile> Namespace::Open(Inode inode,
                                            const ReadContext& context) const {
  Result<OpenFile> opened =
      Renewing(inode, context, [&] { return OpenOnce(inode, context); });
  if (!opened) NoteFailure(inode, opened.error(), context);
  return opened;
}

Result<Namespace::Place> Namespace::FindRenewed(
    Inode inode, const ReadContext& context) const {
  Result<Place> place =
      Renewing(inode, context, [&] { return Find(inode, context); });
  if (!place || place->tree->branch == nullptr ||
      place->tree->CheckUnchanged() || !Renew(inode, context)) {
    return place;
  }
  return Find(inode, context);
}

Maybe<Namespace::Directory> Namespace::EnteredAt(
    Inode inode, const ReadContext& context) const {
  return Renewing(inode, context, [&] { return DirectoryAt(inode, context); });
}

Maybe<Namespace::Directory> Namespace::RenewedAt(
    Inode inode, const ReadContext& context) const {
  return Renewing(inode, context, [&]() -> Maybe<Directory> {
    Maybe<Directory> directory = DirectoryAt(inode, context);
    if (!directory || !*directory) return directory;
    Status fresh = (*directory)->inside.tree->CheckUnchanged();
    if (!fresh) return std::move(fresh).error();
    return directory;
  });
}

Result<Namespace::OpenFile> Namespace::Reopen(
    Inode inode, const OpenFile& file, bool renew,
    const ReadContext& context) const {
  if (file.source != nullptr) {
    Result<std::shared_ptr<const Source>> source = file.source->Renew();
    if (!source) return std::move(source).error();
    OpenFile renewed;
    renewed.content.Append(Range{*source, 0, nullptr}, (*source)->size());
    renewed.lifetime = file.lifetime;
    renewed.source = std::move(*source);
    return renewed;
  }
  if (renew && !Renew(inode, context)) {
    if (Status wanted = context.Check(); !wanted) return wanted.error();
    return Error{Code::kStale, "the container changed under the mount"};
  }
  Result<OpenFile> renewed = Open(inode, context);
  // A document that differs each time: its reader goes on in the one begun.
  if (renewed && file.lifetime == Lifetime::kNone) {
    renewed->content = file.content;
  }
  if (renewed && renewed->content.size() != file.content.size()) {
    return Error{Code::kStale, "the file is of another size now"};
  }
  return renewed;
}

}  // namespace ctxfs
