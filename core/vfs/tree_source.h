// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/work.h"
#include "core/container/entry.h"
#include "core/container/file_table.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/io/source.h"
#include "core/vfs/attributes.h"
#include "core/vfs/containers/page_ledger.h"
#include "core/vfs/listing.h"

namespace ctxfs {

class TreeSource;

/// Properties of all files of a mount.
struct MountRules {
  OpenOptions open = {};
  /// Bounds the work that each request may cause; no bound unless set.
  WorkLimit work_limit{.base = 0, .factor = 0};
  ListMode list_mode = ListMode::kPrimary;
  /// Modification time of files that have none of their own.
  FileTime mtime = {};
  /// Whether the damage of a container is logged when it is opened.
  bool logs_damage = true;
};

struct FoundNode {
  Inode inode = 0;
  Attributes attributes;
};

struct OpenFile {
  Content content;
  Lifetime lifetime = Lifetime::kForever;
  /// A file of the system with exactly the same bytes, which the kernel may
  /// read by itself; null if there is none. Bytes with a checksum are already
  /// verified.
  SourcePtr backing = nullptr;
  /// Whether the pages of the file that the kernel has cached are still valid.
  bool same_pages = true;
  /// Whether the kernel has certainly not cached another size. With another
  /// size, readers would see the end of the file in the wrong place.
  bool same_size = true;
  PageLedger::Verdict pages = {};
  /// Container::StoredSize of the container of the file.
  uint64_t stored_size = 0;
  /// The source of the file. It keeps alive the data that the content is made
  /// from.
  std::shared_ptr<const TreeSource> tree = nullptr;
  /// Whether reads return the current bytes of made_from, which may change.
  bool live = false;
  /// The source that must be unchanged: that of the file's container, or the
  /// mirrored file; null for the mount's own files.
  SourcePtr made_from = nullptr;
  /// The table that has the file as an entry, and the entry's number; null if
  /// the file is no entry.
  std::shared_ptr<const FileTable> entries = nullptr;
  uint32_t entry = 0;

  /// Records that the kernel has opened the file at `inode`. Unless same_pages,
  /// the caller must have dropped the kernel's pages of the file before.
  void NoteOpened(Inode inode) const;
};

/// A part of the mount that comes from one place: a container or a directory of
/// numbered files in it (ContainerSource), directories outside of containers
/// (MirrorSource), or the mount itself (OwnSource). A node is the source's own
/// number of a file or directory; the Resolver finds the source and the node of
/// an inode. Safe for any number of threads.
class TreeSource {
 public:
  using Node = uint64_t;

  TreeSource() = default;
  virtual ~TreeSource() = default;
  TreeSource(const TreeSource&) = delete;
  TreeSource& operator=(const TreeSource&) = delete;

  /// Returns the node of `name` in `directory`; nullopt if it does not exist.
  virtual Maybe<FoundNode> Lookup(Node directory, std::string_view name,
                                  const ReadContext& context) const = 0;
  virtual Result<OpenFile> Open(Node file,
                                const ReadContext& context) const = 0;
  /// The listing is valid as long as this source.
  virtual std::unique_ptr<Listing> List(Node directory) const = 0;
  /// The attributes for stat; computing a size may generate the document.
  virtual Result<Attributes> Examine(Node node,
                                     const ReadContext& context) const = 0;
  /// The description of a file; nullopt if there is none. `note` is the reason
  /// why the file could not be read, if NoteFailure recorded one.
  virtual std::optional<EntryInfo> Describe(
      Node /*node*/, const ReadContext& /*context*/) const {
    return std::nullopt;
  }

  virtual Inode Parent(Node node) const = 0;
  /// The path below the container's directory; for a file in no container,
  /// below the root.
  virtual std::string Path(Node node) const = 0;

  // Defaults that few sources override.

  /// Cost of computing a file's size.
  virtual Cost SizeCost(Node /*node*/) const { return Cost::kNone; }
  /// The target of a symbolic link; kNotFound for any other file.
  virtual Result<std::string> ReadLink(Node /*node*/,
                                       const ReadContext& /*context*/) const {
    return Error{Code::kNotFound, "is no symbolic link"};
  }
  /// Fails with kStale once the files' container has changed.
  virtual Status CheckUnchanged() const { return {}; }
  /// Reopens a file from the descriptors that it holds, after a change of ctime
  /// alone. nullopt if its container has to be reopened instead.
  virtual Maybe<OpenFile> Reopen(const OpenFile& /*file*/) const {
    return std::optional<OpenFile>();
  }
  /// See OpenFile::NoteOpened.
  virtual void NoteOpened(Inode /*inode*/, const OpenFile& /*file*/) const {}
  /// Records why a file could not be read, for Describe and faults.json.
  virtual void NoteFailure(Node /*node*/, const Error& /*error*/) const {}
};

inline void OpenFile::NoteOpened(Inode inode) const {
  tree->NoteOpened(inode, *this);
}

}  // namespace ctxfs
