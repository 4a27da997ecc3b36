// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/vfs/attributes.h"
#include "core/vfs/file_handle.h"
#include "core/vfs/materialized/materialized_files.h"
#include "core/vfs/namespace.h"

namespace ctxfs {

/// Files that the kernel opens by itself (-o revalidate=), so that its READs
/// name an inode, not a handle. The kernel uses cached pages as long as it
/// caches the file's attributes. Before attributes are sent again, Check
/// examines the file as an open would. Thread-safe.
class InodeFiles {
 public:
  /// `files` and `made` must outlive this.
  InodeFiles(Namespace& files, MaterializedFiles& made)
      : files_(files), made_(made) {}

  /// The caller promises to call Server::ForgetAttributes for all files of
  /// WithPages whenever the mount's container changes. Then Check may set
  /// Lifetime::kUntilChange. Must run before threads start.
  void set_changes_reported() { changes_reported_ = true; }

  /// Opens a file for one READ, after which the kernel has pages of it.
  Result<std::shared_ptr<FileHandle>> Open(Inode file,
                                           const ReadContext& context);

  /// Records a READ of bytes [from, from + size); returns how many bytes were
  /// requested before.
  uint64_t NoteAsked(Inode file, uint64_t from, uint64_t size);

  /// Examines a file before its attributes are sent. Fails like
  /// Namespace::Open, with kStale for instance, if the kernel must not use its
  /// pages. If the pages may be outdated, changes mtime for a second, so that
  /// the kernel drops them. (A notification would wait for pending READs, for
  /// ever if the daemon is killed meanwhile.) For a text that differs at each
  /// open, sets size and mtime of the current version: mtime differs from that
  /// of every version that was read before.
  Status Check(Inode file, Attributes& attributes, const ReadContext& context);

  /// Like Check, for a look-up of a name. Makes a new version of a text that
  /// differs at each open, unless it is being read.
  Status CheckNamed(Inode file, Attributes& attributes,
                    const ReadContext& context);

  /// Verifies a file without bytes before it is read, since the kernel then
  /// sends no READ.
  Status VerifyEmpty(Inode file, const ReadContext& context);

  /// Whether the kernel may have cached pages of a file.
  bool HasPages(Inode file) const;

  /// Files of which the kernel may have cached pages. All files that Check gave
  /// Lifetime::kUntilChange are among them; of the others, some are missing if
  /// more than 200,000 files have pages.
  std::vector<Inode> WithPages() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// The current version of a text that differs at each open. It lasts until a
  /// look-up, unless it is being read, and no longer than a second after it was
  /// last read.
  struct Text {
    Content content;
    uint32_t version;  // nanoseconds added to its mtime
    Clock::time_point used;
    uint64_t read_to = 0;     // end of adjacent reads from the start
    bool being_read = false;  // read from the start, not yet to the end
    bool was_read = false;    // so the kernel may have pages of it
    bool over = false;
  };

  /// A file that the kernel may have cached pages of.
  struct Known {
    uint64_t asked = 0;             // total bytes of READ requests
    Clock::time_point bad_since{};  // when first seen outdated, or unset
    bool until_change = false;      // Check set Lifetime::kUntilChange
  };

  /// Returns the current version of a text: `now` if the previous version has
  /// ended.
  Text TextOf(Inode file, Content now);
  void EndText(Inode file);
  /// Records that the kernel will have pages of a file. Returns whether it may
  /// have had pages before.
  bool NotePages(Inode file);
  Known& Remember(Inode file) CTXFS_REQUIRES(mutex_);
  bool HasPagesLocked(Inode file) const CTXFS_REQUIRES(mutex_);
  /// Whether an answer must make the kernel drop the outdated pages of a file:
  /// true for a second after the first call. A single answer would not be
  /// enough, because the kernel may ignore one of two concurrent answers.
  bool MustDrop(Inode file);
  /// Whether attributes of `file` may have Lifetime::kUntilChange: not if it
  /// also depends on other files, whose changes are not reported.
  bool LastsUntilChange(Inode file, const OpenFile& opened);

  Namespace& files_;
  MaterializedFiles& made_;
  bool changes_reported_ = false;
  mutable Mutex mutex_;
  std::unordered_map<Inode, Known> known_ CTXFS_GUARDED_BY(mutex_);
  /// How many of known_ are `until_change`.
  size_t until_change_ CTXFS_GUARDED_BY(mutex_) = 0;
  /// The current versions of texts.
  std::unordered_map<Inode, Text> texts_ CTXFS_GUARDED_BY(mutex_);
  uint32_t versions_ CTXFS_GUARDED_BY(mutex_) = 0;  // the last one
};

}  // namespace ctxfs
