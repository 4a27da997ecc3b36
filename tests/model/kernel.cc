// SPDX-License-Identifier: Apache-2.0
#include "tests/model/kernel.h"

#include <algorithm>
#include <utility>

namespace ctxfs::model {
namespace {

constexpr size_t kMaxHeld = 200;
constexpr size_t kMaxHandles = 24;
constexpr size_t kMaxListings = 6;
// The names of a file that the daemon tries to find it by.
constexpr size_t kMaxTried = 16;

}  // namespace

Kernel::Kernel(Namespace& files, BlockCache& cache, World& world, Inode root,
               uint64_t seed)
    : files_(files),
      cache_(cache),
      world_(world),
      root_(root),
      random_(seed),
      caller_(seed << 32U) {
  Held top;
  top.mirrored = true;
  top.node = world.Find("");
  top.users = 1;  // never forgotten
  top.number = next_number_++;
  in_order_.emplace(top.number, root);
  held_.emplace(root, std::move(top));
}

std::string Kernel::Step() {
  using Operation = std::string (Kernel::*)();
  // Each as often as it is listed.
  static const std::vector<Operation> kOperations = {
      &Kernel::Walk,          &Kernel::Walk,
      &Kernel::Walk,          &Kernel::LookupRandomName,
      &Kernel::GetAttributes, &Kernel::OpenFile,
      &Kernel::OpenFile,      &Kernel::OpenFile,
      &Kernel::ReadFile,      &Kernel::ReadFile,
      &Kernel::ReadFile,      &Kernel::ReadFile,
      &Kernel::ReadFile,      &Kernel::ReleaseFile,
      &Kernel::OpenDirectory, &Kernel::ListDirectory,
      &Kernel::ListDirectory, &Kernel::ReleaseDirectory,
      &Kernel::Forget,        &Kernel::Forget};
  ++caller_;
  if (held_.size() > kMaxHeld) return Forget();
  if (handles_.size() > kMaxHandles) return ReleaseFile();
  if (listings_.size() > kMaxListings) return ReleaseDirectory();
  return (this->*kOperations[random_.Below(kOperations.size())])();
}

void Kernel::Complain(const std::string& what) {
  if (!complaint_) complaint_ = what;
}

std::string Kernel::Name(const Held& held) const {
  return "'" + held.path + "'" +
         (held.inner.empty() ? "" : " (" + held.inner + ")");
}

bool Kernel::IsContainer(const Held& held) const {
  return held.mirrored && !held.node->directory &&
         world_.samples().at(held.as_of.sample).container;
}

bool Kernel::IsDirectory(const Held& held) const {
  if (held.mirrored) return held.node->directory || IsContainer(held);
  const Shown* shown = ShownAt(held.as_of.sample, held.inner);
  return shown != nullptr && shown->directory;
}

Kernel::State Kernel::StateOf(const Held& held) const {
  const std::shared_ptr<Node> now = world_.Find(held.path);
  if (now == nullptr) return State::kGone;
  if (held.node->directory) {
    return now == held.node ? State::kSame : State::kChanged;
  }
  if (now->directory || !now->now.LooksLike(held.as_of)) return State::kChanged;
  if (now->now.sample != held.as_of.sample) return State::kForged;
  return now->now.ctime_ns == held.as_of.ctime_ns ? State::kSame
                                                  : State::kTouched;
}

bool Kernel::AncestorsAreSame(const Place& place) const {
  for (Inode inode = place.parent; inode != 0 && inode != root_;) {
    const Held& parent = held_.at(inode);
    if (parent.mirrored && parent.node->directory &&
        StateOf(parent) != State::kSame) {
      return false;
    }
    inode = parent.parent;
  }
  return true;
}

bool Kernel::IsAt(const Held& held, const Place& place) const {
  const std::shared_ptr<Node> now = world_.Find(place.path);
  return now != nullptr && !now->directory && now->now.SameFile(held.as_of) &&
         AncestorsAreSame(place);
}

void Kernel::ChoosePlace(Held& held) const {
  if (held.others.empty() || IsAt(held, held)) return;
  for (Place& other : held.others) {
    if (IsAt(held, other)) return std::swap(static_cast<Place&>(held), other);
  }
}

bool Kernel::IsSound(const Held& held) const {
  const State state = StateOf(held);
  if (held.others.size() >= kMaxTried) return false;
  return (state == State::kSame || state == State::kTouched) &&
         !held.disturbed && AncestorsAreSame(held);
}

const Shown* Kernel::ShownAt(size_t sample, const std::string& inner) const {
  const ShownTree& tree = world_.samples().at(sample).tree;
  const auto found = tree.find(inner);
  return found == tree.end() ? nullptr : &found->second;
}

std::vector<const Shown*> Kernel::Possible(const Held& held,
                                           const std::string& inner) const {
  std::vector<const Shown*> all = {ShownAt(held.as_of.sample, inner)};
  const auto add_history = [&](const Node& node) {
    for (const Version& version : node.history) {
      if (version.LooksLike(held.as_of)) {
        all.push_back(ShownAt(version.sample, inner));
      }
    }
  };
  add_history(*held.node);
  const std::shared_ptr<Node> now = world_.Find(held.path);
  if (now != nullptr) add_history(*now);
  return all;
}

void Kernel::ObserveChange() {
  for (auto& [inode, held] : held_) {
    ChoosePlace(held);
    const State state = StateOf(held);
    if (state == State::kChanged || state == State::kForged) {
      held.disturbed = true;
    }
  }
  for (Handle& handle : handles_) {
    const std::shared_ptr<Node> there = world_.Find(handle.path);
    if (!handle.node->now.LooksLike(handle.as_of)) handle.disturbed = true;
    if (there != nullptr && !there->now.SameFile(handle.as_of)) {
      handle.disturbed = true;
    }
    if (handle.node->now.sample != handle.as_of.sample) handle.forged = true;
  }
}

// Looking names up.

std::string Kernel::Walk() {
  const std::vector<std::string> directories = world_.Directories();
  std::string path = directories[random_.Below(directories.size())];
  const auto& children = world_.Find(path)->children;
  std::string inner;
  if (!children.empty()) {
    const auto child =
        std::next(children.begin(),
                  static_cast<ptrdiff_t>(random_.Below(children.size())));
    path = Join(path, child->first);
    if (!child->second->directory) {
      const ShownTree& tree = world_.SampleOf(*child->second).tree;
      if (!tree.empty()) {
        inner = std::next(tree.begin(),
                          static_cast<ptrdiff_t>(random_.Below(tree.size())))
                    ->first;
      }
    }
  }
  const std::string whole = inner.empty() ? path : Join(path, inner);
  std::optional<Inode> inode = root_;
  for (size_t from = 0; from < whole.size() && inode;) {
    if (!IsDirectory(At(*inode))) break;
    const size_t end = std::min(whole.find('/', from), whole.size());
    inode = Lookup(*inode, whole.substr(from, end - from));
    from = end + 1;
  }
  std::string text = "walk to " + whole;
  if (inode && !IsDirectory(At(*inode)) && random_.OneIn(2)) {
    text += ", " + OpenInode(*inode);
  }
  return text;
}

std::string Kernel::LookupRandomName() {
  const std::optional<Inode> directory = RandomHeld(/*directory=*/true);
  if (!directory) return "nothing";
  const auto& names = World::Names();
  const std::string name =
      random_.OneIn(8) ? "absent" : names[random_.Below(names.size())];
  const std::string text = "look up " + name + " in " + Name(At(*directory));
  Lookup(*directory, name);
  return text;
}

std::optional<Inode> Kernel::Lookup(Inode directory, const std::string& name) {
  const Result<Found> found = files_.Lookup(directory, name, Context());
  const Held& held = At(directory);
  if (held.mirrored && held.node->directory) {
    CheckLookupInWorld(held, name, found);
  } else {
    CheckLookupInContainer(held, name, found);
  }
  if (!found || !*found) return std::nullopt;
  Hold(directory, name, **found);
  if (!held_.contains((*found)->inode)) return std::nullopt;
  return (*found)->inode;
}

bool Kernel::Matches(const Attributes& got, const Node& node) const {
  if (node.directory) return got.directory;
  const Sample& sample = world_.SampleOf(node);
  return got.directory == sample.container &&
         got.mtime == FileTime{node.now.mtime_ns / kNsPerSecond,
                               node.now.mtime_ns % kNsPerSecond} &&
         got.size == (sample.container ? 0 : sample.bytes.size()) &&
         got.names == (sample.container ? 1 : node.names);
}

void Kernel::CheckLookupInWorld(const Held& directory, const std::string& name,
                                const Result<Found>& found) {
  const std::string path = Join(directory.path, name);
  const std::shared_ptr<Node> wanted = world_.Find(path);
  const bool sound = IsSound(directory);
  const std::string what = "look-up of '" + path + "'";
  if (!found) {
    Count("look-up: error");
    const Code code = found.error().code;
    if (sound || (code != Code::kStale && code != Code::kNotFound)) {
      Complain(what + " fails: " + found.error().Text());
    }
  } else if (!*found) {
    Count("look-up: nothing");
    if (sound && wanted != nullptr) Complain(what + " finds nothing");
  } else {
    Count("look-up: a name of the source");
    if (wanted == nullptr) {
      Complain(what + " finds something");
    } else if (!Matches((*found)->attributes, *wanted)) {
      Complain(what + " finds something else");
    }
  }
}

void Kernel::CheckLookupInContainer(const Held& directory,
                                    const std::string& name,
                                    const Result<Found>& found) {
  const std::string inner = Join(directory.inner, name);
  const std::string what = "look-up of '" + name + "' in " + Name(directory);
  if (!found) {
    Count("look-up in a container: error");
    // A size that cannot be worked out makes the look-up fail.
    if (IsSound(directory) && ShownAt(directory.as_of.sample, inner)) {
      Complain(what + " fails: " + found.error().Text());
    }
    return;
  }
  Count("look-up in a container");
  std::vector<const Shown*> possible = {ShownAt(directory.as_of.sample, inner)};
  if (!IsSound(directory)) possible = Possible(directory, inner);
  const bool right =
      std::any_of(possible.begin(), possible.end(), [&](const Shown* shown) {
        if (shown == nullptr || !*found) return (shown == nullptr) == !*found;
        return shown->HasSize((*found)->attributes);
      });
  if (!right) {
    Complain(what +
             (*found ? " finds something else, of " +
                           std::to_string((*found)->attributes.size) + " bytes"
                     : " finds nothing") +
             (possible[0] == nullptr
                  ? ", in place of nothing"
                  : ", in place of " + std::to_string(possible[0]->size)));
  }
}

void Kernel::Hold(Inode directory, const std::string& name,
                  const FoundNode& found) {
  const Held& parent = At(directory);
  const bool mirrored = parent.mirrored && parent.node->directory;
  const std::string path = mirrored ? Join(parent.path, name) : parent.path;
  const std::shared_ptr<Node> now = world_.Find(path);
  const bool shared = mirrored && now != nullptr && now->names > 1 &&
                      !found.attributes.directory;
  const auto [at, added] = held_.try_emplace(found.inode);
  Held& held = at->second;
  if (added) {
    held.number = next_number_++;
    in_order_.emplace(held.number, found.inode);
    held.mirrored = mirrored;
  }
  if (!NotePlace(held, {directory, name, path}, shared)) return;
  ++held.lookups;
  held.inner = mirrored ? "" : Join(parent.inner, name);
  if (mirrored && now != nullptr) {
    const bool was_container = !added && IsContainer(held);
    if (was_container && !now->now.LooksLike(held.as_of)) {
      Complain("a new container has the inode of the old one at " + Name(held));
    }
    held.node = now;
    held.as_of = now->now;
  } else {
    held.node = parent.node;
    held.as_of = parent.as_of;
    held.disturbed = held.disturbed || parent.disturbed;
  }
  children_[{directory, name}] = found.inode;
  if (held.shared) CheckNoOther(held);
}

bool Kernel::NotePlace(Held& held, Place place, bool shared) {
  const auto is = [&place](const Place& other) {
    return other.parent == place.parent && other.name == place.name;
  };
  const bool added = held.lookups == 0;
  const auto other = std::ranges::find_if(held.others, is);
  if (!added && !is(held) && !(held.shared && shared)) {
    Complain("inode of " + Name(held) + " is given to '" + place.name +
             "' in " + Name(At(place.parent)));
    return false;
  }
  if (added || (!is(held) && other == held.others.end())) {
    ++At(place.parent).users;
  }
  if (!added && !is(held)) Count("look-up: another name of a file");
  if (other != held.others.end()) {
    *other = held;
  } else if (!added && !is(held)) {
    held.others.push_back(held);
  }
  static_cast<Place&>(held) = std::move(place);
  held.shared = shared;
  return true;
}

void Kernel::CheckNoOther(const Held& held) {
  for (const auto& [inode, other] : held_) {
    if (&other == &held || !other.shared || other.node != held.node) continue;
    Complain("the file " + Name(held) + " has another inode than " +
             Name(other));
  }
}

std::optional<Inode> Kernel::RandomHeld(bool directory) {
  std::vector<Inode> all;
  for (const auto& [number, inode] : in_order_) {
    if (IsDirectory(At(inode)) == directory) all.push_back(inode);
  }
  if (all.empty()) return std::nullopt;
  return all[random_.Below(all.size())];
}

}  // namespace ctxfs::model
