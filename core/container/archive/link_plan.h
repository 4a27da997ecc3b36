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
/// out of the container, even through other links of it (docs/tree.md, section
/// 6). A link is shown at its plain path or not at all. Stores only the paths
/// of links. Of the other members it only records whether one has the path of a
/// link, and whether one is below a name in the root that targets lead through.
/// Its memory is bounded by kMaxLinks and kMaxLinkNodes; further links are not
/// shown.
///
/// All string views that are passed to a LinkPlan must outlive it.
class LinkPlan {
 public:
  /// `last_keeps_name`: see Placement.
  explicit LinkPlan(bool last_keeps_name);

  /// Adds a link. `path` is that of FileTable::Path.
  void AddLink(uint32_t entry, std::string_view path, std::string_view target);

  bool empty() const { return links_.empty(); }

  /// Adds an entry that is no link. All links must have been added before.
  void AddOther(uint32_t entry, std::string_view path, bool directory);

  /// Returns the links that are not shown, in the order of AddLink. Must be
  /// called once, after everything was added. Fails if interrupted.
  Result<std::vector<uint32_t>> Hidden(const ReadContext& context);

 private:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = UINT32_MAX;

  enum class State : uint8_t {
    kUnknown,
    kBeingFollowed,
    kStays,   // leads to a place in the container, which may not exist
    kLoops,   // leads to itself; the kernel fails with ELOOP
    kHidden,  // may lead out of the container, or its path is taken
  };

  /// A node of the trie of links' paths: a directory above a link, or a link.
  struct Trie {
    Node parent = kRoot;
    uint32_t link = kNone;  // the number of the link
    bool has_children = false;
  };

  /// The place of a target: a number of names below a node.
  struct Position {
    Node node = kRoot;
    uint32_t below = 0;
    /// Whether the position is certainly among entries. False in `views`, where
    /// attached containers have their own links.
    bool of_entries = true;
  };

  /// An entry's claim to a place in the tree.
  struct Claim {
    uint32_t entry = 0;
    bool only_plain = false;  // its name differs from its plain path
  };

  struct Link {
    Claim claim;
    std::string_view target;
    Node node = kNone;
    Position end;  // if it stays in the container
    State state = State::kUnknown;
  };

  /// A step of following a link: the rest of its target, from a position.
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
  /// Creates the node of a path; kNone if the limit is reached.
  Node Make(std::string_view path);
  void NoteTops(std::string_view target);
  bool IsWinner(const Claim& claim, const Claim& of) const;
  void Follow(uint32_t link);
  /// Follows one name of the step's target. Returns the link to follow first,
  /// or kNone.
  uint32_t Advance(Step& step, State& state) const;
  Position Below(const Step& step, std::string_view name) const;
  bool GoUp(Position& at) const;
  Node TopOf(Node node) const;

  const bool last_keeps_name_;
  std::vector<Link> links_;
  std::vector<uint32_t> surplus_;  // entries beyond the limits
  std::deque<Trie> trie_;
  std::unordered_map<Name, Node, Hash> children_;
  /// Names in the root that targets may lead through, and whether the path of
  /// an entry begins with them.
  std::unordered_map<Name, bool, Hash> tops_;
};

/// The warning in info.json that `count` links are not shown.
std::string LinkWarning(uint64_t count, std::string_view first);

}  // namespace ctxfs
