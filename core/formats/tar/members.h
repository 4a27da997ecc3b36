// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/container/archive/packed_attributes.h"
#include "core/container/file_table.h"

namespace ctxfs::tar {

/// How a member is shown (docs/formats/tar.md, section 5).
enum class Kind : uint8_t {
  kFile,       // type 0, 7 or NUL: may be part of a sample
  kOtherFile,  // a type that POSIX does not define
  kHardLink,   // another name of an earlier file
  kSparse,     // a file with holes, or one whose size is wrong
  kSymlink,    // shown as a link
  kDirectory,  // its name is stored without final slashes
  kNotShown,   // a hard link to nothing
  kLeaves,     // not shown: a symbolic link out of the archive
  kSpecial,    // not shown: a device, or a record of GNU tar
};

/// Whether a mount shows the member, as a file, directory or link.
constexpr bool IsShown(Kind kind) { return kind < Kind::kNotShown; }

/// Position of a member's bytes.
struct Extent {
  uint64_t at = 0;  // in the archive
  uint64_t size = 0;
};

struct SparseMap;

/// The members of an archive, in archive order until MoveKeepers moves some: 32
/// bytes each and their names, plus 4 bytes each if a time has a fraction of a
/// second.
class Members {
 public:
  uint32_t count() const { return static_cast<uint32_t>(members_.size()); }

  Kind kind(uint32_t member) const {
    return static_cast<Kind>(members_[member].kind);
  }
  /// Returns the stored bytes; a hard link has its original's, a symlink none.
  Extent extent(uint32_t member) const {
    const Member& one = members_[Original(member)];
    return {one.at, kind(member) == Kind::kSymlink ? 0 : one.size};
  }
  /// Returns the original of a hard link; any other member itself.
  uint32_t Original(uint32_t member) const {
    if (kind(member) != Kind::kHardLink) return member;
    return static_cast<uint32_t>(members_[member].at);
  }
  /// Returns the size of the member's file, bytes; 0 if it cannot be read.
  uint64_t FileSize(uint32_t member) const;
  /// Returns the map of a sparse file; null for other files.
  std::shared_ptr<const SparseMap> sparse(uint32_t member) const {
    const auto found = sparse_.find(Original(member));
    return found == sparse_.end() ? nullptr : found->second;
  }
  /// Returns the stored target of a symbolic link.
  std::string_view target(uint32_t member) const {
    const Member& one = members_[member];
    return std::string_view(names_).substr(one.name_at + one.name_length,
                                           static_cast<size_t>(one.size));
  }
  std::string_view name(uint32_t member) const {
    return std::string_view(names_).substr(members_[member].name_at,
                                           members_[member].name_length);
  }
  /// Returns time and mode of a member; for a hard link, of the original.
  StoredAttributes attributes(uint32_t member) const;
  /// Whether the mount shows another file at this file's path. After
  /// MoveKeepers, that file is a later member.
  bool superseded(uint32_t member) const {
    return members_[member].superseded != 0;
  }

  /// Adds a member. Fails with kLimit if there are too many members or names.
  Status Add(Kind kind, Extent extent, std::string_view name);
  Status AddSymlink(Extent extent, std::string_view name,
                    std::string_view target);
  Status SetAttributes(const StoredAttributes& attributes);
  void SetSparse(uint32_t member, std::shared_ptr<const SparseMap> map) {
    sparse_.emplace(member, std::move(map));
  }
  /// Marks a symbolic link as not shown.
  void HideLink(uint32_t member) {
    members_[member].kind = static_cast<unsigned>(Kind::kLeaves) & 0x7FU;
    members_[member].size = 0;
  }

  void Supersede(uint32_t member) { members_[member].superseded = 1; }
  /// Two members with the same path: `keeper` of an earlier archive, which
  /// keeps the path, and `member` of a later archive.
  struct Yield {
    uint32_t keeper;
    uint32_t member;
  };
  /// Moves each keeper to the place of the last member that yields to it: the
  /// last member of a path wins. Must be called once, at the end.
  Status MoveKeepers(const std::vector<Yield>& yields);
  Status ShrinkToFit();

 private:
  struct Member {
    uint64_t at;       // hard link: number of the original
    uint64_t size;     // symbolic link: size of the target, after the name
    uint32_t name_at;  // in names_
    uint32_t name_length : 24;  // below 2^21
    uint32_t kind : 7;
    uint32_t superseded : 1;
    PackedAttributes attributes;
  };
  static_assert(sizeof(Member) == 32);

  void Swap(uint32_t a, uint32_t b);

  std::deque<Member> members_;         // grows without copying
  std::vector<uint32_t> nanoseconds_;  // of times, by member; 0 past the end
  std::string names_;
  std::unordered_map<uint32_t, std::shared_ptr<const SparseMap>> sparse_;
};

/// Returns `name` without leading "./", as mounts show it (section 8).
std::string_view ShownPath(std::string_view name);

/// Returns the plain path of `name` (docs/tree.md, section 7). May point into
/// `scratch`.
std::string_view PlainPath(std::string_view name, std::string& scratch);

/// Finds the last file of each path in a hash table of member numbers. The hash
/// has a random seed, so an archive cannot provoke collisions.
class LastOfName {
 public:
  /// `plain`: compare by PlainPath, else by ShownPath.
  explicit LastOfName(const Members& members, bool plain = false);

  /// Returns the last file at the path of `name`.
  std::optional<uint32_t> At(std::string_view name) const;

  /// Puts a shown member at its path; returns the member it replaces.
  Result<std::optional<uint32_t>> Put(uint32_t member);

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  /// A member and the hash of its path. Different paths mostly differ in hash,
  /// which saves comparing the paths; rehashing needs no paths at all.
  struct Slot {
    uint32_t member = kFree;
    uint32_t hash = 0;
  };

  std::string_view PathOf(std::string_view name, std::string& scratch) const;
  uint32_t Hash(std::string_view path) const;
  size_t Find(uint32_t hash, std::string_view path) const;
  Status Grow();

  const Members& members_;
  const bool plain_;
  std::vector<Slot> slots_;  // a power of two
  uint32_t used_ = 0;
  const uint64_t seed_;
};

}  // namespace ctxfs::tar
