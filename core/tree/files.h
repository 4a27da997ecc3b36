// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/entry.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/tree/tree.h"

namespace ctxfs {

/// A tree of files: names, and what is at them. Nodes are numbered from 0, the
/// root. Immutable.
class Files {
 public:
  static constexpr NodeId kRoot = 0;

  struct Child {
    NodeId node;
    std::string name;
    bool directory;
  };

  Files() = default;
  virtual ~Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  virtual bool IsDirectory(NodeId node) const = 0;
  /// The root is its own parent.
  virtual NodeId Parent(NodeId node) const = 0;
  /// From the root: "a/b", empty for the root itself.
  virtual std::string Path(NodeId node) const = 0;

  /// What a directory holds.
  virtual std::optional<NodeId> Lookup(NodeId directory,
                                       std::string_view name) const = 0;
  virtual uint32_t ChildCount(NodeId directory) const = 0;
  virtual Child ChildAt(NodeId directory, uint32_t index) const = 0;

  /// What hangs at a directory in place of children: a container, or files that
  /// are numbered; null for nothing.
  virtual const SubContainer* Hanging(NodeId /*directory*/) const {
    return nullptr;
  }
  virtual const Files* Numbered(NodeId /*directory*/) const { return nullptr; }

  /// Whether a directory holds the files that describe the container, and no
  /// entries: `.ctxfs`, or `.ctxfs~2` beside an entry of that name.
  virtual bool IsMetadata(NodeId /*directory*/) const { return false; }

  /// Whether what has a name is there: see DerivedFiles::Exists.
  virtual Result<bool> Exists(NodeId /*node*/, bool /*listing*/,
                              const ReadContext& /*context*/) const {
    return true;
  }

  /// Bytes of a file. One of our making may have to be made to be measured: ask
  /// at look-up, and for a listing only where it is cheap.
  virtual Result<uint64_t> Size(NodeId file,
                                const ReadContext& context) const = 0;
  /// Whether Size takes a small read at the most.
  virtual bool SizeIsCheap(NodeId file) const = 0;

  /// Whether a file cannot be read for want of a key.
  virtual bool IsLocked(NodeId /*file*/) const { return false; }
  /// Whether a file's bytes may differ from one open to the next.
  virtual bool IsLive(NodeId /*file*/) const { return false; }

  virtual Result<Content> Open(NodeId file,
                               const ReadContext& context) const = 0;

  /// What is known of a file, or nothing for a file of no interest.
  virtual std::optional<EntryInfo> Describe(NodeId /*file*/) const {
    return std::nullopt;
  }
  /// The container's entry that a file is; nothing for another.
  virtual std::optional<uint32_t> Entry(NodeId /*file*/) const {
    return std::nullopt;
  }
};

}  // namespace ctxfs
