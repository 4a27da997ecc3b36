// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/containers/renewal.h"

#include <utility>

#include "core/vfs/containers/open_container.h"

namespace ctxfs {

void Renewal::GiveUp(const Chain& chain) {
  constexpr size_t kMaxGivenUp = 1000;
  if (chain.empty()) return;
  const MutexLock lock(mutex_);
  if (given_up_.size() >= kMaxGivenUp) given_up_.clear();
  given_up_[chain.front()] = std::chrono::steady_clock::now();
}

bool Renewal::IsGivenUp(MountedContainers::Number number) const {
  constexpr std::chrono::seconds kMoment(1);
  const MutexLock lock(mutex_);
  const auto found = given_up_.find(number);
  return found != given_up_.end() &&
         std::chrono::steady_clock::now() - found->second < kMoment;
}

bool Renewal::Renew(const Chain& chain, const ReadContext& context) {
  MountedContainers::Tree outermost;
  for (const MountedContainers::Number number : chain) {
    MountedContainers::Tree tree = containers_.Opened(number);
    if (tree == nullptr) continue;
    if (!tree->CheckUnchanged()) return RenewOne(tree, /*lose=*/true, context);
    if (outermost == nullptr) outermost = std::move(tree);
  }
  if (outermost == nullptr || IsGivenUp(outermost->number)) return false;
  if (RenewOne(outermost, /*lose=*/false, context)) return true;
  // An interrupted renewal proves nothing, so it may be retried.
  if (context.Check()) GiveUp(chain);
  return false;
}

bool Renewal::RenewOne(const MountedContainers::Tree& tree, bool lose,
                       const ReadContext& context) {
  const MountedContainers::Number number = tree->number;
  MountedContainers::Reopen reopen;
  if (tree->outer == nullptr) {
    reopen = [&](const ReadContext& shared) {
      bool changed = false;
      auto opened = OpenAgain(*tree, changed, shared);
      if (changed && lose) containers_.Lose(number);
      return opened;
    };
  }
  return containers_.Renew(number, tree, reopen, lose, context).has_value();
}

Result<std::shared_ptr<const Container>> Renewal::OpenAgain(
    const ContainerSource& tree, bool& changed, const ReadContext& context) {
  SourcePtr source = tree.container_tree->container().source();
  Error error{Code::kIo, "the container keeps changing"};
  for (int i = 0; i < kMax; ++i) {
    Result<SourcePtr> renewed = source->Renew();
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
  error.code = Code::kIo;  // transient: the file may stop changing
  return error;
}

}  // namespace ctxfs
