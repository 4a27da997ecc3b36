// SPDX-License-Identifier: Apache-2.0
//
// The Kernel's directories, and what it forgets.
#include <algorithm>
#include <utility>

#include "tests/model/kernel.h"

namespace ctxfs::model {

std::string Kernel::OpenDirectory() {
  const std::optional<Inode> inode = RandomHeld(/*directory=*/true);
  if (!inode) return "nothing";
  Held& held = At(*inode);
  auto listing = files_.OpenDirectory(*inode, Context());
  const std::string text = "open directory " + Name(held);
  if (!listing) {
    Count("opendir: error");
    if (IsSound(held)) {
      Complain(text + " fails: " + listing.error().Text());
    }
    return text + ", which fails";
  }
  ++held.users;
  listings_.push_back({*inode, std::move(*listing)});
  return text;
}

std::string Kernel::ListDirectory() {
  if (listings_.empty()) return "nothing";
  OpenListing& open = listings_[random_.Below(listings_.size())];
  const Held& held = At(open.inode);
  const std::string text = "list " + Name(held);
  const uint64_t taken_at = OldestListing(open.inode);
  if (const Status rewound = open.listing->Rewind(Context()); !rewound) {
    Count("list: error");
    if (IsSound(held)) Complain(text + " fails: " + rewound.error().Text());
    return text + ", which fails";
  }
  open.taken_at = taken_at;
  std::vector<Listing::Name> names;
  const bool attributes = random_.OneIn(2);
  for (uint64_t i = 0; i < open.listing->count(); ++i) {
    std::optional<Listing::Name> name =
        open.listing->At(i, attributes, Context());
    if (name) names.push_back(std::move(*name));
  }
  if (IsSound(held)) {
    Count("list");
    CheckListing(open.inode, names,
                 /*fresh=*/taken_at == world_.changes());
  } else {
    Count("list after a change");
  }
  return text;
}

uint64_t Kernel::OldestListing(Inode directory) const {
  uint64_t oldest = world_.changes();
  for (const OpenListing& open : listings_) {
    if (open.inode == directory && open.taken_at) {
      oldest = std::min(oldest, *open.taken_at);
    }
  }
  return oldest;
}

void Kernel::CheckListing(Inode directory,
                          const std::vector<Listing::Name>& names, bool fresh) {
  const Held& held = At(directory);
  const std::string what = "listing of " + Name(held);
  struct Wanted {
    bool directory = false;
    bool shared = false;  // a plain file with hard links
  };
  std::map<std::string, Wanted> wanted;
  if (held.mirrored && held.node->directory) {
    for (const auto& [name, child] : held.node->children) {
      const bool directory =
          child->directory || world_.SampleOf(*child).container;
      wanted[name] = {directory, !directory && child->names > 1};
    }
  } else {
    const ShownTree& tree = world_.samples().at(held.as_of.sample).tree;
    const std::string prefix = held.inner.empty() ? "" : held.inner + "/";
    for (const auto& [path, shown] : tree) {
      if (path.empty() || !path.starts_with(prefix)) continue;
      const std::string name = path.substr(prefix.size());
      if (name.find('/') == name.npos) wanted[name] = {shown.directory};
    }
  }
  for (const Listing::Name& name : names) {
    const auto found = wanted.find(name.name);
    if (found == wanted.end()) {
      Complain(what + " has '" + name.name + "'");
      return;
    }
    const bool exact = fresh || !held.mirrored || !held.node->directory;
    const Wanted as = found->second;
    if (exact && (!name.type_known || as.directory != name.directory)) {
      Complain(what + " has '" + name.name + "' as another type");
    }
    wanted.erase(found);
    const auto known = children_.find({directory, name.name});
    if (!exact || known == children_.end()) continue;
    const Held& before = At(known->second);
    const Place place{directory, name.name, Join(held.path, name.name)};
    if (known->second != name.inode && IsSound(before) &&
        before.shared == as.shared && (!before.shared || IsAt(before, place))) {
      Complain(what + " gives '" + name.name + "' another inode, " +
               std::to_string(name.inode) + " in place of " +
               std::to_string(known->second));
    }
  }
  if (!wanted.empty()) {
    Complain(what + " lacks '" + wanted.begin()->first + "'");
  }
}

std::string Kernel::ReleaseDirectory() {
  if (listings_.empty()) return "nothing";
  const size_t chosen = random_.Below(listings_.size());
  std::swap(listings_[chosen], listings_.back());
  const std::string text =
      "close directory " + Name(At(listings_.back().inode));
  listings_.back().listing.reset();
  DropUser(listings_.back().inode);
  listings_.pop_back();
  return text;
}

std::string Kernel::Forget() {
  std::vector<Inode> unused;
  for (const auto& [number, inode] : in_order_) {
    if (At(inode).users == 0) unused.push_back(inode);
  }
  if (unused.empty()) return "nothing";
  const Inode inode = unused[random_.Below(unused.size())];
  const Held& held = At(inode);
  const std::string text = "forget " + Name(held);
  const bool all = held.lookups == 1 || !random_.OneIn(3);
  ForgetOne(inode, all ? held.lookups : 1 + random_.Below(held.lookups - 1));
  return text + (all ? "" : " in part");
}

void Kernel::ForgetOne(Inode inode, uint64_t count) {
  Held& held = At(inode);
  files_.Forget(inode, count);
  held.lookups -= count;
  if (held.lookups != 0) return;
  held.others.push_back(held);
  for (const Place& place : held.others) {
    const auto child = children_.find({place.parent, place.name});
    if (child != children_.end() && child->second == inode) {
      children_.erase(child);
    }
    DropUser(place.parent);
  }
  in_order_.erase(held.number);
  held_.erase(inode);
}

void Kernel::DropAll() {
  while (!handles_.empty()) ReleaseFile();
  while (!listings_.empty()) ReleaseDirectory();
  while (held_.size() > 1) {
    std::vector<Inode> unused;
    for (const auto& [number, inode] : in_order_) {
      if (At(inode).users == 0) unused.push_back(inode);
    }
    for (const Inode inode : unused) ForgetOne(inode, At(inode).lookups);
  }
}

}  // namespace ctxfs::model
