// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/vfs/attributes.h"

namespace ctxfs {

/// The names of a directory at one time, numbered from 0. Each takes 16 bytes
/// and its name. Immutable once filled.
class DirectorySnapshot {
 public:
  enum class Type : uint8_t { kUnknown, kFile, kDirectory, kLink };

  struct Name {
    Inode inode = 0;
    std::string_view name;  // valid as long as the snapshot
    Type type = Type::kUnknown;
  };

  /// Returns false, and adds nothing, once all names take 4 GiB.
  bool Add(Inode inode, std::string_view name, Type type);

  /// Reserves memory for many names. Growing in small steps would leave small
  /// blocks in the heap of each thread that lists a directory.
  void Reserve();

  /// Frees the reserved memory that is unused.
  void ShrinkToFit();

  uint64_t count() const { return items_.size(); }
  Name At(uint64_t index) const;

  bool operator==(const DirectorySnapshot&) const = default;

 private:
  struct Item {
    Inode inode;
    uint32_t end;  // of its name in names_
    Type type;
    bool operator==(const Item&) const = default;
  };

  std::vector<Item> items_;
  std::string names_;
};

}  // namespace ctxfs
