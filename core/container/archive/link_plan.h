// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Limits of one container (docs/tree.md, section 6): symbolic links, names in
/// their paths and targets, and bytes of a target (the kernel's limit).
constexpr size_t kMaxLinks = 1'000'000;
constexpr size_t kMaxLinkNodes = 1'000'000;
constexpr size_t kMaxLinkTarget = 4095;

/// Decides which symbolic links of an archive are shown: those that cannot lead
/// out of the container, whatever other links of it they lead through
/// (docs/tree.md, section 6). A link has its plain path or is not shown. Stores
/// the paths of links only. Of other members it records whether one has the
/// path of a link, or of a directory that a target goes up from. Its memory is
/// bounded by kMaxLinks and kMaxLinkNodes; a link beyond them is not shown.
///
/// All views that it is given must outlive it.
class LinkPlan {
 public:
  /// `last_keeps_name`: see Placement.
  explicit LinkPlan(bool last_keeps_name);

  /// Adds a link. `path` is that of FileTable::Path.
  void AddLink(uint32_t entry, std::string_view path, std::string_view target);

  /// Whether there are no links.
  bool empty() const { return links_.empty(); }

  /// Adds an entry that is no link. All links must have been added.
  void AddOther(uint32_t entry, std::string_view path, bool directory);

  /// Returns the links that are not shown, in the order of AddLink. To be
  /// called once, after everything was added. Fails if interrupted.
  Result<std::vector<uint32_t>> Hidden(const ReadContext& context);

 private:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = UINT32_MAX;

  enum class State : uint8_t {
    kUnknown,
    kBeingFollowed,
    kStays,   // leads to a place in the container, which need not exist
    kLoops,   // leads to itself; the kernel fails with ELOOP
    kHidden,  // may lead out of the container, or has no place of its own
  };

  /// A directory above a link, or a link.
  struct Trie {
    Node parent = kRoot;
    uint32_t link = kNone;  // the number of the link
    bool has_children = false;
  };

  /// A place that a target leads to: so many names below a node.
  struct Position {
    Node node = kRoot;
    uint32_t below = 0;
    /// Whether it is certainly in directories of entries: not in `views`, where
    /// containers are attached that have links of their own.
    bool of_entries = true;
  };

  /// An entry's claim to a place in the tree.
  struct Claim {
    uint32_t entry = 0;
    bool only_plain = false;  // its name is another one than its plain path
  };

  struct Link {
    Claim claim;
    std::string_view target;
    Node node = kNone;
    Position end;  // if it stays
    State state = State::kUnknown;
  };

  /// A link that is being followed: the rest of its target, from a position.
  struct Step {
    uint32_t link;
    std::string_view rest;
    Position at;
  };

  struct Name {
    Node parent;
    std::string_view name;
    bool operator==(const Name&) const = default;
  };
  struct Hash {
    uint64_t seed;
    size_t operator()(const Name& name) const;
  };

  Node Find(Node parent, std::string_view name) const;
  /// Makes the node of a path; kNone if there is no room for it.
  Node Make(std::string_view path);
  void NoteTops(std::string_view target);
  bool IsWinner(const Claim& claim, const Claim& of) const;
  void Follow(uint32_t link);
  /// Goes one name further. Returns the link that has to be followed first, or
  /// kNone.
  uint32_t Advance(Step& step, State& state) const;
  Position Below(const Step& step, std::string_view name) const;
  bool GoUp(Position& at) const;
  Node TopOf(Node node) const;

  const bool last_keeps_name_;
  std::vector<Link> links_;
  std::vector<uint32_t> surplus_;  // entries beyond the limits
  std::deque<Trie> trie_;
  std::unordered_map<Name, Node, Hash> children_;
  /// Names that targets have in the root, and whether an entry is there.
  std::unordered_map<Name, bool, Hash> tops_;
};

/// The warning of info.json that `count` links are not shown.
std::string LinkWarning(uint64_t count, std::string_view first);

}  // namespace ctxfs
