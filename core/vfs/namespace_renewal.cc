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

std::shared_ptr<const Branch> Namespace::Top() const {
  if (mirror_ != nullptr) return nullptr;
  const MutexLock lock(mutex_);
  return top_;
}

PageLedger::Verdict Namespace::PagesOf(const Place& place) const {
  if (place.graft != 0) return grafts_.PagesOf(place.graft, place.node);
  const MutexLock lock(mutex_);
  return top_pages_.Of(place.node);
}

void Namespace::NoteOpened(Inode inode, const OpenFile& file) {
  if (file.source != nullptr) {
    mirror_->NoteOpened(inode, file.source->identity());
    return;
  }
  const auto graft = static_cast<Grafts::Number>(inode >> kGraftShift);
  if (graft != 0) {
    grafts_.NoteOpened(graft, static_cast<NodeId>(inode), file.pages);
    return;
  }
  if (inode - kRoot < own_.node_count()) return;
  const auto node = static_cast<NodeId>(inode - kRoot - own_.node_count() + 1);
  const MutexLock lock(mutex_);
  top_pages_.NoteOpened(node, file.pages);
}

void Namespace::GiveUp(Inode inode) const {
  constexpr size_t kMostGivenUp = 1000;
  const std::vector<Grafts::Number> containers = ContainersOf(inode);
  if (containers.empty()) return;
  const MutexLock lock(mutex_);
  if (given_up_.size() >= kMostGivenUp) given_up_.clear();
  given_up_[containers.front()] = std::chrono::steady_clock::now();
}

bool Namespace::IsGivenUp(Grafts::Number number) const {
  constexpr std::chrono::seconds kMoment(1);
  const MutexLock lock(mutex_);
  const auto found = given_up_.find(number);
  return found != given_up_.end() &&
         std::chrono::steady_clock::now() - found->second < kMoment;
}

std::vector<Grafts::Number> Namespace::ContainersOf(Inode inode) const {
  std::vector<Grafts::Number> inner_first;
  auto number = static_cast<Grafts::Number>(inode >> 32);
  if (IsMirrored(inode)) number = grafts_.At(inode).value_or(0);
  while (number != 0) {
    inner_first.push_back(number);
    const std::optional<Grafts::Graft> graft = grafts_.Find(number);
    number = graft ? graft->within : 0;
  }
  if (mirror_ == nullptr) inner_first.push_back(0);
  return {inner_first.rbegin(), inner_first.rend()};
}

bool Namespace::Renew(Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode) && !mirror_->Find(inode)) return false;
  std::shared_ptr<const Branch> outermost;
  Grafts::Number outermost_number = 0;
  for (const Grafts::Number number : ContainersOf(inode)) {
    const std::shared_ptr<const Branch> branch =
        number == 0 ? Top() : grafts_.Opened(number);
    if (branch == nullptr) continue;
    if (!branch->container().source()->CheckUnchanged()) {
      return RenewOne(number, branch, /*lose=*/true, context);
    }
    if (outermost == nullptr) {
      outermost = branch;
      outermost_number = number;
    }
  }
  // The stale file may be one that the container names.
  if (outermost == nullptr || IsGivenUp(outermost_number)) return false;
  if (RenewOne(outermost_number, outermost, /*lose=*/false, context)) {
    return true;
  }
  GiveUp(inode);
  return false;
}

bool Namespace::RenewOne(Grafts::Number number,
                         const std::shared_ptr<const Branch>& branch, bool lose,
                         const ReadContext& context) const {
  if (number == 0) return RenewTop(branch, lose, context).has_value();
  const std::optional<Grafts::Graft> graft = grafts_.Find(number);
  if (!graft) return false;
  Grafts::Opener reopen = graft->open;
  if (IsMirrored(graft->at)) {
    reopen = [&](const ReadContext& shared) {
      bool changed = false;
      auto opened = OpenAgain(*branch, changed, shared);
      if (changed && lose) grafts_.Lose(number);
      return opened;
    };
  }
  const Status renewed = grafts_.Renew(number, branch, reopen, lose, context);
  if (!renewed && IsMirrored(graft->at) && grafts_.IsLost(number)) {
    mirror_->Retire(graft->at);
  }
  return renewed.has_value();
}

Result<std::shared_ptr<const Container>> Namespace::OpenAgain(
    const Branch& branch, bool& changed, const ReadContext& context) const {
  std::shared_ptr<const Source> source = branch.container().source();
  Error error{Code::kIo, "the container keeps changing"};
  for (int i = 0; i < kMostRenewals; ++i) {
    Result<std::shared_ptr<const Source>> renewed = source->Renew();
    if (!renewed) {
      changed = renewed.error().code == Code::kStale;
      return std::move(renewed).error();
    }
    source = std::move(*renewed);
    Result<std::shared_ptr<const Container>> container =
        OpenRecorded(source, options_, context);
    if (container) return container;
    error = std::move(container).error();
    if (error.Permanent()) {
      changed = true;
      return Error{Code::kStale, "the container changed: " + error.Text()};
    }
    if (error.code != Code::kStale) return error;
  }
  error.code = Code::kIo;  // it may be left alone the next time
  return error;
}

Status Namespace::RenewTop(const std::shared_ptr<const Branch>& old, bool lose,
                           const ReadContext& context) const {
  const Error lost{Code::kStale, "the container was replaced by another"};
  const auto is_renewed = [&] { return Top() != old; };
  const auto renew = [&](const ReadContext& shared) -> Status {
    {
      const MutexLock lock(mutex_);
      if (top_lost_) return lost;
    }
    bool changed = false;
    Result<std::shared_ptr<const Container>> container =
        OpenAgain(*old, changed, shared);
    std::shared_ptr<const Branch> top;
    if (container) {
      top = make_top_(*container);
      changed = (*container)->source()->opening_digest() !=
                    old->container().source()->opening_digest() ||
                top->NodeCount() != old->NodeCount();
    }
    const MutexLock lock(mutex_);
    top_lost_ = changed && lose;
    if (changed) return lost;
    if (!container) return std::move(container).error();
    top_ = std::move(top);
    top_pages_.Renew();
    grafts_.RenewAll();
    return {};
  };
  return context.cache().Once({renewing_top_, 0}, context, is_renewed, renew);
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
  return outcome;
}

Result<std::optional<Namespace::Found>> Namespace::Lookup(
    Inode directory, std::string_view name, const ReadContext& context) const {
  return Renewing(directory, context,
                  [&] { return LookupOnce(directory, name, context); });
}

Result<Namespace::OpenFile> Namespace::Open(Inode inode,
                                            const ReadContext& context) const {
  return Renewing(inode, context, [&] { return OpenOnce(inode, context); });
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
    return Error{Code::kStale, "the container changed under the mount"};
  }
  Result<OpenFile> renewed = Open(inode, context);
  if (renewed && renewed->content.size() != file.content.size()) {
    return Error{Code::kStale, "the file is of another size now"};
  }
  return renewed;
}

}  // namespace ctxfs
