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

/// The number of a value in a pickle.
using NodeId = uint32_t;
constexpr NodeId kNoNode = UINT32_MAX;

/// A value of a pickle. The meaning of the fields depends on `kind`.
struct Node {
  enum class Kind : uint8_t {
    kNone,
    kBool,        // number: 0 or 1
    kInt,         // number
    kBigInt,      // text: two's complement, little-endian
    kFloat,       // number: the bits of the double
    kText,        // text
    kBytes,       // text
    kList,        // children
    kTuple,       // children
    kDict,        // children: key, value, key, ...
    kSet,         // children
    kGlobal,      // text: "module.name"
    kObject,      // number: the index of its Object
    kPersistent,  // first: the id, a value of any kind
  };
  Kind kind = Kind::kNone;
  uint32_t first = kNoNode;  // text: the offset; children: the first link
  uint32_t last = kNoNode;   // text: the length; children: the last link
  int64_t number = 0;
};

/// A call by REDUCE, NEWOBJ or NEWOBJ_EX, recorded but not executed.
struct Object {
  NodeId callable = kNoNode;
  NodeId args = kNoNode;    // a tuple
  NodeId kwargs = kNoNode;  // a dict, or kNoNode
  NodeId state = kNoNode;   // the argument of BUILD
  // The first and the last link of each list. The children of `entries` are
  // key, value, key, ...
  std::pair<uint32_t, uint32_t> items = {kNoNode, kNoNode};
  std::pair<uint32_t, uint32_t> entries = {kNoNode, kNoNode};
};

/// A pickle as data. Reading it calls and imports nothing.
class Pickle {
 public:
  const Node& at(NodeId node) const { return nodes_[node]; }
  const Object& ObjectAt(NodeId node) const {
    return objects_[static_cast<size_t>(nodes_[node].number)];
  }
  NodeId root() const { return root_; }
  size_t count() const { return nodes_.size(); }

  /// Returns the text of a kText, kBytes, kBigInt or kGlobal.
  std::string_view Text(NodeId node) const {
    return std::string_view(texts_).substr(nodes_[node].first,
                                           nodes_[node].last);
  }

  // These functions return false for kNoNode.
  bool Is(NodeId node, Node::Kind kind) const {
    return node != kNoNode && nodes_[node].kind == kind;
  }
  bool IsText(NodeId node, std::string_view text) const {
    return Is(node, Node::Kind::kText) && Text(node) == text;
  }
  bool IsSequence(NodeId node) const {
    return Is(node, Node::Kind::kList) || Is(node, Node::Kind::kTuple);
  }

  /// To iterate over children: for (uint32_t i = first; i != kNoNode; i =
  /// Next(i)) ... Child(i).
  NodeId Child(uint32_t link) const { return links_[link].node; }
  uint32_t Next(uint32_t link) const { return links_[link].next; }

  /// Returns child `index` of a list, tuple or set; kNoNode if past the end.
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

/// Reads the pickle at byte `offset` of `content`, by a fixed table of opcodes
/// (docs/formats/torch.md, section 4). Sets `end` to the byte after the pickle.
/// Fails with kCorrupt if the pickle is unreadable, and with kLimit if it is
/// too large. Offsets of errors count from the start of `content`.
Result<Pickle> ReadPickle(const Content& content, uint64_t offset,
                          const ReadContext& context, uint64_t& end);

}  // namespace ctxfs::torch
