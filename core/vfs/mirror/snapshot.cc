// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/snapshot.h"

namespace ctxfs {

bool DirectorySnapshot::Add(Inode inode, std::string_view name, Type type) {
  if (name.size() > UINT32_MAX - names_.size()) return false;
  names_ += name;
  items_.push_back({inode, static_cast<uint32_t>(names_.size()), type});
  return true;
}

void DirectorySnapshot::Reserve() {
  // malloc maps each block of this size, and unmaps it when it is freed.
  constexpr size_t kBytes = 1 << 20;
  names_.reserve(kBytes);
  items_.reserve(kBytes / sizeof(Item));
}

void DirectorySnapshot::ShrinkToFit() {
  items_.shrink_to_fit();
  names_.shrink_to_fit();
}

DirectorySnapshot::Name DirectorySnapshot::At(uint64_t index) const {
  const Item& item = items_[index];
  const uint32_t start = index == 0 ? 0 : items_[index - 1].end;
  return {item.inode, std::string_view(names_).substr(start, item.end - start),
          item.type};
}

}  // namespace ctxfs
