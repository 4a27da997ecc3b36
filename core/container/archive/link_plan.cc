// SPDX-License-Identifier: Apache-2.0
#include "core/container/archive/link_plan.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/seed.h"
#include "core/base/text/text.h"
#include "core/container/archive/plain_name.h"

namespace ctxfs {
namespace {

constexpr size_t kLinksPerCheck = 1024;

/// The components of a path in the tree, in order.
class Components {
 public:
  explicit Components(std::string_view name)
      : rest_(name), plain_(HasPlainPath(name)) {}

  bool done() const { return rest_.empty(); }
  std::string_view Take() {
    std::string_view component = TakeComponent(rest_);
    // A kept component follows each omitted one: HasPlainPath is false for a
    // name that ends in an omitted component.
    while (plain_ && IsLeftOut(component)) component = TakeComponent(rest_);
    return component;
  }

 private:
  std::string_view rest_;
  bool plain_;
};

size_t CountComponents(std::string_view name) {
  if (!HasPlainPath(name)) {
    return static_cast<size_t>(std::count(name.begin(), name.end(), '/')) + 1;
  }
  Components left(name);
  size_t count = 0;
  for (; !left.done(); ++count) left.Take();
  return count;
}

/// Whether a component of a target is a name.
bool IsName(std::string_view component) {
  return !component.empty() && component != "." && component != "..";
}

/// Whether a target is relative to the link's directory, has at most
/// kMaxLinkTarget bytes, and contains no NUL.
bool IsRelative(std::string_view target) {
  return !target.empty() && target.front() != '/' &&
         target.size() <= kMaxLinkTarget &&
         target.find('\0') == std::string_view::npos;
}

}  // namespace

size_t LinkPlan::Hash::operator()(const Name& name) const {
  return XXH3_64bits_withSeed(name.name.data(), name.name.size(),
                              seed + name.parent);
}

LinkPlan::LinkPlan(bool last_keeps_name)
    : last_keeps_name_(last_keeps_name),
      trie_(1),
      children_(0, Hash{RandomSeed()}),
      tops_(0, children_.hash_function()) {}

LinkPlan::Node LinkPlan::Find(Node parent, std::string_view name) const {
  const auto found = children_.find({parent, name});
  return found == children_.end() ? kNone : found->second;
}

LinkPlan::Node LinkPlan::Make(std::string_view path) {
  const size_t components = CountComponents(path);
  // The tree shortens a path with more components, so its names there differ.
  if (components > limits::kComponents ||
      trie_.size() + components > kMaxLinkNodes) {
    return kNone;
  }
  Components left(path);
  Node node = kRoot;
  for (size_t i = 0; i < components; ++i) {
    const auto [found, made] = children_.try_emplace(
        {node, left.Take()}, static_cast<Node>(trie_.size()));
    trie_[node].has_children = true;
    if (made) trie_.push_back({node, kNone, false});
    node = found->second;
  }
  return node;
}

void LinkPlan::NoteTops(std::string_view target) {
  // Records the first name of the target, or all its names if ".." follows one.
  bool named = false;
  std::string_view rest = target;
  while (!rest.empty()) {
    const std::string_view component = TakeComponent(rest);
    if (component == ".." && named) {
      for (rest = target; !rest.empty();) {
        const std::string_view name = TakeComponent(rest);
        if (IsName(name)) tops_.try_emplace({kRoot, name}, false);
      }
      return;
    }
    if (!IsName(component) || named) continue;
    named = true;
    tops_.try_emplace({kRoot, component}, false);
  }
}

bool LinkPlan::IsWinner(const Claim& claim, const Claim& of) const {
  if (claim.only_plain != of.only_plain) return of.only_plain;
  return last_keeps_name_ ? claim.entry > of.entry : claim.entry < of.entry;
}

void LinkPlan::AddLink(uint32_t entry, std::string_view path,
                       std::string_view target) {
  // If memory is refused, the whole container is discarded (HeapAllowance).
  if (links_.size() >= kMaxLinks || tops_.size() >= kMaxLinkNodes ||
      !AdmitGrowth(links_) || !HeapAllowance::Check()) {
    surplus_.push_back(entry);
    return;
  }
  Link link;
  link.claim = {entry, HasPlainPath(path)};
  link.target = target;
  link.node = Make(path);
  if (link.node == kNone || !IsRelative(target)) link.state = State::kHidden;
  if (link.node != kNone) {
    // Does not record the names of a longer target. No link leads through such
    // a link, and its target may have any number of names.
    if (target.size() <= kMaxLinkTarget) NoteTops(target);
    uint32_t& holder = trie_[link.node].link;
    if (holder == kNone || IsWinner(link.claim, links_[holder].claim)) {
      if (holder != kNone) links_[holder].state = State::kHidden;
      holder = static_cast<uint32_t>(links_.size());
    } else {
      link.state = State::kHidden;
    }
  }
  links_.push_back(link);
}

void LinkPlan::AddOther(uint32_t entry, std::string_view path, bool directory) {
  if (directory) path = DirectoryName(path);
  const Claim claim{entry, HasPlainPath(path)};
  const auto top = tops_.find({kRoot, Components(path).Take()});
  if (top != tops_.end()) top->second = true;
  Node node = kRoot;
  for (Components left(path); !left.done();) {
    node = Find(node, left.Take());
    if (node == kNone) return;
    if (trie_[node].link == kNone) continue;
    Link& link = links_[trie_[node].link];
    const bool same = claim.only_plain == link.claim.only_plain;
    // The link's path belongs to a directory, or to another entry.
    if (!left.done() || (directory && same) || IsWinner(claim, link.claim)) {
      link.state = State::kHidden;
    }
  }
}

LinkPlan::Node LinkPlan::TopOf(Node node) const {
  while (node != kRoot && trie_[node].parent != kRoot) {
    node = trie_[node].parent;
  }
  return node;
}

LinkPlan::Position LinkPlan::Below(const Step& step,
                                   std::string_view name) const {
  Position at = step.at;
  if (at.below > 0) {
    ++at.below;
    return at;
  }
  const Node child = Find(at.node, name);
  if (at.node == kRoot) {
    const auto top = tops_.find({kRoot, name});
    at.of_entries = (top != tops_.end() && top->second) ||
                    (child != kNone && child == TopOf(links_[step.link].node));
  }
  if (child == kNone) {
    at.below = 1;
  } else {
    at.node = child;
  }
  return at;
}

bool LinkPlan::GoUp(Position& at) const {
  if (!at.of_entries) return false;
  if (at.below > 0) {
    --at.below;
    return true;
  }
  if (at.node == kRoot) return false;
  at.node = trie_[at.node].parent;
  return true;
}

uint32_t LinkPlan::Advance(Step& step, State& state) const {
  std::string_view rest = step.rest;
  const std::string_view component = TakeComponent(rest);
  if (IsName(component)) {
    const Position next = Below(step, component);
    const uint32_t link = next.below > 0 ? kNone : trie_[next.node].link;
    if (link == kNone) {
      step.at = next;
    } else if (links_[link].state == State::kUnknown) {
      return link;
    } else if (links_[link].state == State::kStays) {
      step.at = links_[link].end;
    } else if (links_[link].state == State::kHidden) {
      state = State::kHidden;
    } else {
      state = State::kLoops;
    }
  } else if (component == ".." && !GoUp(step.at)) {
    state = State::kHidden;
  }
  step.rest = rest;
  return kNone;
}

void LinkPlan::Follow(uint32_t link) {
  std::vector<Step> steps;  // each step waits for the next one
  const auto start = [&](uint32_t number) {
    Link& one = links_[number];
    one.state = State::kBeingFollowed;
    steps.push_back({number, one.target, {trie_[one.node].parent, 0, true}});
  };
  start(link);
  while (!steps.empty()) {
    Step& step = steps.back();
    Link& followed = links_[step.link];
    State state = State::kStays;
    uint32_t first = kNone;
    while (!step.rest.empty() && state == State::kStays && first == kNone) {
      first = Advance(step, state);
    }
    if (first != kNone) {
      start(first);
      continue;
    }
    followed.state = state;
    followed.end = step.at;
    steps.pop_back();
  }
}

Result<std::vector<uint32_t>> LinkPlan::Hidden(const ReadContext& context) {
  for (Link& link : links_) {
    // Another link is below this path, so the path belongs to a directory.
    if (link.node != kNone && trie_[link.node].has_children) {
      link.state = State::kHidden;
    }
  }
  std::vector<uint32_t> hidden;
  for (uint32_t i = 0; i < links_.size(); ++i) {
    if (i % kLinksPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    if (links_[i].state == State::kUnknown) Follow(i);
    if (links_[i].state == State::kHidden)
      hidden.push_back(links_[i].claim.entry);
  }
  hidden.insert(hidden.end(), surplus_.begin(), surplus_.end());
  return hidden;
}

std::string LinkWarning(uint64_t count, std::string_view first) {
  return fmt::format(
      "link: {} symbolic links are not shown, because they may lead out of the "
      "archive or another member has their place; the first is {}",
      count, Quote(first));
}

}  // namespace ctxfs
