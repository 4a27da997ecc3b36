// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs::torch {

/// Numbers a value of a pickle.
using NodeId = uint32_t;
constexpr NodeId kNoNode = UINT32_MAX;

/// A value of a pickle. What the fields mean depends on its kind.
struct Node {
  enum class Kind : uint8_t {
    kNone,
    kBool,        // number: 0 or 1
    kInt,         // number
    kBigInt,      // text: two's complement, little-endian
    kFloat,       // number: the bits
    kText,        // text
    kBytes,       // text
    kList,        // children
    kTuple,       // children
    kDict,        // children: key, value, key, ...
    kSet,         // children
    kGlobal,      // text: "module.name"
    kObject,      // number: of its Object
    kPersistent,  // first: the id, any value
  };
  Kind kind = Kind::kNone;
  uint32_t first = kNoNode;  // of texts: the offset; of children: the link
  uint32_t last = kNoNode;   // of texts: the length; of children: the link
  int64_t number = 0;
};

/// The result of a call that was not made: of REDUCE, NEWOBJ or NEWOBJ_EX.
struct Object {
  NodeId callable = kNoNode;
  NodeId args = kNoNode;    // a tuple
  NodeId kwargs = kNoNode;  // a dict, if there are any
  NodeId state = kNoNode;   // of BUILD
  std::pair<uint32_t, uint32_t> items = {kNoNode, kNoNode};    // first, last
  std::pair<uint32_t, uint32_t> entries = {kNoNode, kNoNode};  // alternating
};

/// A pickle as data. Nothing in it was called, imported or looked up.
class Pickle {
 public:
  const Node& at(NodeId node) const { return nodes_[node]; }
  const Object& ObjectAt(NodeId node) const {
    return objects_[static_cast<size_t>(nodes_[node].number)];
  }
  NodeId root() const { return root_; }
  size_t count() const { return nodes_.size(); }

  /// The text of a kText, kBytes, kBigInt or kGlobal.
  std::string_view Text(NodeId node) const {
    return std::string_view(texts_).substr(nodes_[node].first,
                                           nodes_[node].last);
  }

  // These are false for kNoNode.
  bool Is(NodeId node, Node::Kind kind) const {
    return node != kNoNode && nodes_[node].kind == kind;
  }
  bool IsText(NodeId node, std::string_view text) const {
    return Is(node, Node::Kind::kText) && Text(node) == text;
  }
  bool IsSequence(NodeId node) const {
    return Is(node, Node::Kind::kList) || Is(node, Node::Kind::kTuple);
  }

  /// Walks a list of children: for (uint32_t i = first; i != kNoNode; i =
  /// Next(i)) ... Child(i).
  NodeId Child(uint32_t link) const { return links_[link].node; }
  uint32_t Next(uint32_t link) const { return links_[link].next; }

  /// Child `index` of a list, tuple or set; kNoNode if it has fewer.
  NodeId Child(NodeId node, uint32_t index) const;

 private:
  friend class PickleMachine;

  struct Link {
    NodeId node;
    uint32_t next;
  };

  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<Object> objects_;
  std::string texts_;
  NodeId root_ = kNoNode;
};

/// Reads the pickle that starts at byte `offset` of `content`, by a fixed table
/// of opcodes (docs/formats/torch.md, section 4), and sets `end` to the byte
/// after it. Fails with kCorrupt for a pickle that is unreadable and with
/// kLimit for one that is too large; the offset of the error counts from the
/// start of `content`.
Result<Pickle> ReadPickle(const Content& content, uint64_t offset,
                          const ReadContext& context, uint64_t& end);

}  // namespace ctxfs::torch
