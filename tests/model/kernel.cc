// SPDX-License-Identifier: Apache-2.0
#include "tests/model/kernel.h"

#include <algorithm>
#include <utility>

#include "core/content/window.h"

namespace ctxfs::model {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr size_t kMostHeld = 200;
constexpr size_t kMostHandles = 24;
constexpr size_t kMostListings = 6;

std::string Join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

}  // namespace

Kernel::Kernel(Namespace& files, BlockCache& cache, World& world, Inode root,
               uint64_t seed)
    : files_(files), cache_(cache), world_(world), root_(root), random_(seed) {
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
  if (held_.size() > kMostHeld) return Forget();
  if (handles_.size() > kMostHandles) return ReleaseFile();
  if (listings_.size() > kMostListings) return ReleaseDirectory();
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

bool Kernel::AncestorsAreSame(const Held& held) const {
  for (Inode inode = held.parent; inode != 0 && inode != root_;) {
    const Held& parent = held_.at(inode);
    if (parent.mirrored && parent.node->directory &&
        StateOf(parent) != State::kSame) {
      return false;
    }
    inode = parent.parent;
  }
  return true;
}

bool Kernel::IsSound(const Held& held) const {
  const State state = StateOf(held);
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
  const Result<Found> found =
      files_.Lookup(directory, name, ReadContext(cache_));
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
         got.size == (sample.container ? 0 : sample.bytes.size());
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
                  const Namespace::Found& found) {
  const Held& parent = At(directory);
  const bool mirrored = parent.mirrored && parent.node->directory;
  const auto [at, added] = held_.try_emplace(found.inode);
  Held& held = at->second;
  if (!added && (held.parent != directory || held.name != name)) {
    Complain("inode of " + Name(held) + " is given to '" + name + "' in " +
             Name(parent));
    return;
  }
  ++held.lookups;
  if (added) {
    held.parent = directory;
    held.name = name;
    held.number = next_number_++;
    in_order_.emplace(held.number, found.inode);
    held.mirrored = mirrored;
    ++At(directory).users;
  }
  held.path = mirrored ? Join(parent.path, name) : parent.path;
  held.inner = mirrored ? "" : Join(parent.inner, name);
  const std::shared_ptr<Node> now = world_.Find(held.path);
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
}

// Attributes and files.

std::optional<Inode> Kernel::RandomHeld(bool directory) {
  std::vector<Inode> all;
  for (const auto& [number, inode] : in_order_) {
    if (IsDirectory(At(inode)) == directory) all.push_back(inode);
  }
  if (all.empty()) return std::nullopt;
  return all[random_.Below(all.size())];
}

std::string Kernel::GetAttributes() {
  const std::optional<Inode> inode = RandomHeld(random_.OneIn(3));
  if (!inode || *inode == root_) return "nothing";
  const Held& held = At(*inode);
  CheckAttributes(held, files_.Examine(*inode, ReadContext(cache_)));
  return "stat " + Name(held);
}

void Kernel::CheckAttributes(const Held& held, const Result<Attributes>& got) {
  const std::string what = "stat of " + Name(held);
  const State state = StateOf(held);
  const std::shared_ptr<Node> now = world_.Find(held.path);
  // A plain file that is written to is still the same file.
  const bool written = held.mirrored && state == State::kChanged &&
                       !held.node->directory && !now->directory &&
                       now->now.SameFile(held.as_of) && !IsContainer(held) &&
                       !world_.SampleOf(*now).container;
  if (!got) {
    Count("stat: error");
    if (IsSound(held) || (written && AncestorsAreSame(held))) {
      Complain(what + " fails: " + got.error().Text());
    }
    return;
  }
  Count("stat");
  if (!held.mirrored) {
    const auto possible = Possible(held, held.inner);
    const bool right =
        std::any_of(possible.begin(), possible.end(), [&](const Shown* shown) {
          return shown != nullptr && shown->HasSize(*got);
        });
    if (!right)
      Complain(what + " gives " + std::to_string(got->size) + " bytes");
  } else if (state == State::kGone) {
    Complain(what + " succeeds, though it is gone");
  } else if (state == State::kChanged && !written && !held.disturbed) {
    Complain(what + " succeeds, though it was replaced");
  } else if (!Matches(*got, *now)) {
    Complain(what + " is wrong");
  }
}

std::string Kernel::OpenFile() {
  const std::optional<Inode> inode = RandomHeld(/*directory=*/false);
  return inode ? OpenInode(*inode) : "nothing";
}

std::string Kernel::OpenInode(Inode inode) {
  Held& held = At(inode);
  Result<Namespace::OpenFile> file = files_.Open(inode, ReadContext(cache_));
  CheckOpen(held, file);
  if (!file) return "open " + Name(held) + ", which fails";
  Handle handle;
  handle.inode = inode;
  handle.file = std::make_unique<FileHandle>(files_, inode, std::move(*file));
  handle.path = held.path;
  handle.inner = held.inner;
  handle.mirrored = held.mirrored;
  const std::shared_ptr<Node> now = world_.Find(held.path);
  const State state = StateOf(held);
  const bool there = state != State::kGone && !now->directory;
  handle.node = there ? now : held.node;
  handle.as_of = there ? now->now : held.as_of;
  handle.disturbed = held.disturbed || !there;
  handle.forged = held.disturbed || state == State::kForged;
  ++held.users;
  handles_.push_back(std::move(handle));
  return "open " + Name(held);
}

void Kernel::CheckOpen(const Held& held,
                       const Result<Namespace::OpenFile>& file) {
  const std::string what = "open of " + Name(held);
  const State state = StateOf(held);
  const std::shared_ptr<Node> now = world_.Find(held.path);
  const bool written = held.mirrored && state == State::kChanged &&
                       !now->directory && now->now.SameFile(held.as_of) &&
                       !world_.SampleOf(*now).container;
  const Shown* shown =
      held.mirrored ? nullptr : ShownAt(held.as_of.sample, held.inner);
  if (!file) {
    Count("open: error");
    const bool damaged = shown != nullptr && !shown->bytes;
    if (IsSound(held) && !damaged) {
      Complain(what + " fails: " + file.error().Text());
    }
    return;
  }
  Count("open");
  if (state == State::kChanged && !written && !held.disturbed) {
    Complain(what + " succeeds, though it was replaced");
  }
  if (held.mirrored && state == State::kGone) {
    Complain(what + " succeeds, though it is gone");
  }
  if (!IsSound(held) || (shown != nullptr && shown->live)) return;
  const uint64_t size =
      held.mirrored ? world_.SampleOf(*now).bytes.size() : shown->size;
  if (file->content.size() != size) {
    Complain(what + " has " + std::to_string(file->content.size()) +
             " bytes in place of " + std::to_string(size));
  }
}

std::string Kernel::ReadFile() {
  if (handles_.empty()) return "nothing";
  Handle& handle = handles_[random_.Below(handles_.size())];
  const uint64_t size = handle.file->file()->content.size();
  const bool all = random_.OneIn(2);
  const uint64_t offset = all ? 0 : random_.Below(size + 2);
  const size_t length = all ? size + 1 : random_.Below(10'000);
  Window window;
  const Status read =
      handle.file->Read(offset, length, ReadContext(cache_), window);
  Result<std::string> got = std::string();
  if (read) {
    for (const Bytes slice : window.slices()) *got += AsText(slice);
  } else {
    got = read.error();
  }
  CheckRead(handle, offset, length, got);
  return "read " + std::to_string(length) + " bytes at " +
         std::to_string(offset) + " of '" + handle.path + "' (" + handle.inner +
         ")";
}

namespace {

std::string WindowOf(const std::string& bytes, uint64_t offset, size_t length) {
  return offset >= bytes.size() ? "" : bytes.substr(offset, length);
}

}  // namespace

void Kernel::CheckRead(const Handle& handle, uint64_t offset, size_t length,
                       const Result<std::string>& got) {
  const std::string what =
      "read of '" + handle.path + "' (" + handle.inner + ")";
  const auto bytes_of = [&](size_t sample) -> std::optional<std::string> {
    if (handle.mirrored) return world_.samples().at(sample).bytes;
    const Shown* shown = ShownAt(sample, handle.inner);
    return shown == nullptr ? std::nullopt : shown->bytes;
  };
  const Shown* shown =
      handle.mirrored ? nullptr : ShownAt(handle.as_of.sample, handle.inner);
  const bool is_live = shown != nullptr && shown->live;
  const auto is_window_of = [&](size_t sample) {
    const std::optional<std::string> bytes = bytes_of(sample);
    if (is_live) return true;
    return bytes && *got == WindowOf(*bytes, offset, length);
  };
  const bool reaches_source =
      handle.mirrored || shown == nullptr || shown->entry;
  const std::shared_ptr<Node> there = world_.Find(handle.path);
  const bool replaced =
      there != nullptr &&
      (there->directory || !there->now.SameFile(handle.as_of));
  const bool written = !handle.node->now.LooksLike(handle.as_of);

  const bool damaged = !bytes_of(handle.as_of.sample);
  if (replaced || written) {
    Count(got ? "read after a change" : "read after a change: error");
    if (!got && got.error().code != Code::kStale && !handle.forged &&
        !damaged) {
      Complain(what + " after a change is not stale: " + got.error().Text());
    }
    if (got && reaches_source && !got->empty()) {
      Complain(what + " succeeds, though the file was changed");
    }
    if (got && !got->empty() && !handle.forged &&
        !is_window_of(handle.as_of.sample)) {
      Complain(what + " after a change has wrong bytes");
    }
    return;
  }
  if (handle.forged) {
    Count(got ? "read of a forged file" : "read of a forged file: error");
    if (got && !is_window_of(handle.node->now.sample) &&
        (reaches_source || !is_window_of(handle.as_of.sample))) {
      Complain(what + " has bytes that are no longer in the file");
    }
    return;
  }
  if (!got) {
    Count("read: error");
    const bool stale = handle.disturbed && got.error().code == Code::kStale;
    if (!damaged && !stale) Complain(what + " fails: " + got.error().Text());
    return;
  }
  Count("read");
  if (damaged && !got->empty() && !shown->partly) {
    Complain(what + " succeeds, though damaged");
  }
  if (!damaged && !is_window_of(handle.as_of.sample)) {
    Complain(what + " has wrong bytes");
  }
}

std::string Kernel::ReleaseFile() {
  if (handles_.empty()) return "nothing";
  const size_t chosen = random_.Below(handles_.size());
  std::swap(handles_[chosen], handles_.back());
  const std::string text = "close '" + handles_.back().path + "'";
  DropUser(handles_.back().inode);
  handles_.pop_back();
  return text;
}

}  // namespace ctxfs::model
