// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs {

/// The files and directories that were opened beside a source. A renewed source
/// reopens removed companions from this object, so a container of several files
/// stays readable after its removal. A file that was replaced is stale, even if
/// it was closed meanwhile: bytes of the old file may have been served. Safe
/// for any number of threads.
class Companions {
 public:
  using Opened = Result<SourcePtr>;

  Companions() = default;
  /// Starts with the companions of `before`.
  explicit Companions(const Companions& before)
      : before_(before.Known()),
        seen_(before.Seen()),
        asked_(before.asked()),
        replaced_(before.replaced()) {}

  /// Opens the companion at `path` by `open`. If it was removed, renews the
  /// companion of `before` at this path. Fails with kStale if another file was
  /// opened there earlier, or the file had other bytes.
  Opened Open(const std::string& path, const std::function<Opened()>& open);

  /// Fails with kStale if an open companion, or one of its own companions, has
  /// changed.
  Status CheckUnchanged() const;
  /// Whether Open was ever called, on this object or on `before`.
  bool asked() const { return asked_; }
  /// Whether Open found a file that was replaced, on this object or on
  /// `before`.
  bool replaced() const { return replaced_; }

 private:
  /// A directory has no descriptor, so a Companion keeps it. A file has one, so
  /// it is referenced weakly, and closed with its container.
  struct Companion {
    std::weak_ptr<const Source> file;
    SourcePtr directory;
  };
  using Map = std::map<std::string, Companion>;
  using Stamps = std::unordered_map<uint64_t, uint64_t>;

  static constexpr size_t kForgetAt = 1024;
  /// Maximum number of files that are remembered, so that opening one again
  /// detects that it was replaced. They take 3 MiB of memory.
  static constexpr size_t kMaxSeen = 65'536;

  Map Known() const;
  Stamps Seen() const;
  /// Remembers the stamp of `file` (StampOf) for `path`. Returns false if
  /// another stamp was seen there earlier.
  bool See(const std::string& path, const Source& file) CTXFS_REQUIRES(mutex_);
  /// Removes closed files when they may be most of the map.
  void ForgetClosed() CTXFS_REQUIRES(mutex_);

  const Map before_{};
  mutable Mutex mutex_;
  Map opened_ CTXFS_GUARDED_BY(mutex_);
  size_t forget_at_ CTXFS_GUARDED_BY(mutex_) = kForgetAt;
  Stamps seen_ CTXFS_GUARDED_BY(mutex_);  // by the hash of their paths
  std::atomic<bool> asked_ = false;
  std::atomic<bool> replaced_ = false;
};

}  // namespace ctxfs
