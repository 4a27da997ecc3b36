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
};

/// The result of a look-up.
struct FoundNode {
  Inode inode = 0;
  Attributes attributes;
};

/// A file that is open.
struct OpenFile {
  Content content;
  Lifetime lifetime = Lifetime::kForever;
  /// A file of the system that has the same bytes, verified, and nothing else,
  /// so that the kernel may read it by itself; null if there is none.
  SourcePtr backing = nullptr;
  /// Whether pages that the kernel has of it are still good.
  bool same_pages = true;
  /// Whether the kernel can have no other size of it, where it would see the
  /// end of the file.
  bool same_size = true;
  PageLedger::Verdict pages = {};
  /// Container::StoredSize of the container that it is in.
  uint64_t stored_size = 0;
  /// The source that it is a file of; keeps what the content is made from.
  std::shared_ptr<const TreeSource> tree = nullptr;
  /// Whether reads give the bytes that made_from has then, and it need not be
  /// unchanged.
  bool live = false;
  /// What has to be unchanged: the source of the container that it is in, or
  /// the mirrored file; null for one of the mount's own.
  SourcePtr made_from = nullptr;
  /// The table of entries that it is in, and its number; null if it is no
  /// entry.
  std::shared_ptr<const FileTable> entries = nullptr;
  uint32_t entry = 0;

  /// Notes that the kernel has opened the file, at `inode`, and has dropped the
  /// pages it had of it by now, unless same_pages.
  void NoteOpened(Inode inode) const;
};

/// A part of the mount that comes from one place: a container or a directory of
/// numbered files in it (ContainerSource), directories outside of containers
/// (MirrorSource), or the mount itself (OwnSource). A node is a file or a
/// directory in it, by whatever number the source gives it; the Resolver finds
/// the source and the node of an inode. Safe for any number of threads.
class TreeSource {
 public:
  using Node = uint64_t;

  TreeSource() = default;
  virtual ~TreeSource() = default;
  TreeSource(const TreeSource&) = delete;
  TreeSource& operator=(const TreeSource&) = delete;

  /// Returns what `name` is in `directory`; nothing if it is not there.
  virtual Maybe<FoundNode> Lookup(Node directory, std::string_view name,
                                  const ReadContext& context) const = 0;
  virtual Result<OpenFile> Open(Node file,
                                const ReadContext& context) const = 0;
  /// Valid as long as this source.
  virtual std::unique_ptr<Listing> List(Node directory) const = 0;
  /// The attributes for stat; finding a size may mean making the document.
  virtual Result<Attributes> Examine(Node node,
                                     const ReadContext& context) const = 0;
  /// What is known of a file; nullopt if there is nothing to say. `note` is the
  /// reason why it could not be read, if NoteFailure recorded one.
  virtual std::optional<EntryInfo> Describe(
      Node /*node*/, const ReadContext& /*context*/) const {
    return std::nullopt;
  }

  /// The directory that a node is in.
  virtual Inode Parent(Node node) const = 0;
  /// Below the directory of the container; below the root if there is none.
  virtual std::string Path(Node node) const = 0;

  // Defaults that few sources override.

  /// Cost of computing a file's size.
  virtual Cost SizeCost(Node /*node*/) const { return Cost::kNone; }
  /// The target of a symbolic link; kNotFound for any other file.
  virtual Result<std::string> ReadLink(Node /*node*/,
                                       const ReadContext& /*context*/) const {
    return Error{Code::kNotFound, "is no symbolic link"};
  }
  /// kStale once what the files are made from has changed.
  virtual Status CheckUnchanged() const { return {}; }
  /// Opens a file again from what it has open, after a change of ctime alone.
  /// Nothing if its container has to be reopened.
  virtual Maybe<OpenFile> Reopen(const OpenFile& /*file*/) const {
    return std::optional<OpenFile>();
  }
  /// See OpenFile::NoteOpened.
  virtual void NoteOpened(Inode /*inode*/, const OpenFile& /*file*/) const {}
  /// Notes why a file could not be read, for Describe and faults.json.
  virtual void NoteFailure(Node /*node*/, const Error& /*error*/) const {}
};

inline void OpenFile::NoteOpened(Inode inode) const {
  tree->NoteOpened(inode, *this);
}

}  // namespace ctxfs
