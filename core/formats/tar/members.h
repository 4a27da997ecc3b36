// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace ctxfs::tar {

/// How a member is shown (docs/tar.md, section 5).
enum class Kind : uint8_t {
  kFile,       // of type 0, 7 or NUL: may be part of a sample
  kOtherFile,  // of a type that POSIX does not define
  kHardLink,   // to an earlier file: has its bytes
  kSparse,     // listed, not readable
  kDirectory,  // named without slashes at its end
  kLink,       // not shown: a symbolic link, or a hard link to nothing
  kSpecial,    // not shown: a device, or a record of GNU tar
};

/// Whether a member is a file or directory of a mount.
constexpr bool IsShown(Kind kind) {
  return kind != Kind::kLink && kind != Kind::kSpecial;
}

/// The position of a member's bytes.
struct Extent {
  uint64_t at = 0;  // in the archive
  uint64_t size = 0;
};

/// The members of an archive in its order: 24 bytes each, and their names.
class Members {
 public:
  uint32_t count() const { return static_cast<uint32_t>(members_.size()); }

  Kind kind(uint32_t member) const {
    return static_cast<Kind>(members_[member].kind);
  }
  Extent extent(uint32_t member) const {
    return {members_[member].at, members_[member].size};
  }
  /// The name as it is stored.
  std::string_view name(uint32_t member) const {
    return std::string_view(names_).substr(members_[member].name_at,
                                           members_[member].name_length);
  }
  /// Whether a later file has the same path.
  bool superseded(uint32_t member) const {
    return members_[member].superseded != 0;
  }

  /// Fails with kLimit if there are too many members or names.
  Status Add(Kind kind, Extent extent, std::string_view name);

  void Supersede(uint32_t member) { members_[member].superseded = 1; }
  void ShrinkToFit() { names_.shrink_to_fit(); }

 private:
  struct Member {
    uint64_t at;
    uint64_t size;
    uint32_t name_at;           // in names_
    uint32_t name_length : 24;  // below 2^21
    uint32_t kind : 7;
    uint32_t superseded : 1;
  };

  std::deque<Member> members_;  // grows without a second copy in memory
  std::string names_;
};

/// `name` without a leading "./", however often repeated: the path that is
/// shown (docs/tar.md, section 8).
std::string_view ShownPath(std::string_view name);

/// Finds the last file of each path, by a hash table of member numbers. The
/// hash has a random seed, so that no archive makes it slow.
class LastOfName {
 public:
  explicit LastOfName(const Members& members);

  /// The last file that was put at `path`.
  std::optional<uint32_t> At(std::string_view path) const;

  /// Puts a member that is shown at its path; returns the one that was there.
  std::optional<uint32_t> Put(uint32_t member);

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  /// A member and the hash of its path. Comparing hashes first saves most
  /// comparisons of paths, and growing the table needs none.
  struct Slot {
    uint32_t member = kFree;
    uint32_t hash = 0;
  };

  uint32_t Hash(std::string_view path) const;
  size_t Find(uint32_t hash, std::string_view path) const;
  void Grow();

  const Members& members_;
  std::vector<Slot> slots_;  // a power of two
  uint32_t used_ = 0;
  const uint64_t seed_;
};

}  // namespace ctxfs::tar
