// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs {

/// The files and directories that were opened beside a source. A renewed source
/// reopens removed companions from this object, so a container of several files
/// stays readable after its removal. Safe for any number of threads.
class Companions {
 public:
  using Opened = Result<SourcePtr>;

  Companions() = default;
  /// Starts with the companions of `before`.
  explicit Companions(const Companions& before)
      : before_(before.Known()), asked_(before.asked()) {}

  /// Opens the companion at `path` by `open`. If it was removed, renews the
  /// companion of `before` at this path.
  Opened Open(const std::string& path, const std::function<Opened()>& open);

  /// Fails with kStale if an open companion, or one of its own companions, has
  /// changed.
  Status CheckUnchanged() const;
  /// Whether Open was ever called, here or for `before`.
  bool asked() const { return asked_; }

 private:
  /// A directory has no descriptor, so a Companion keeps it. A file has one, so
  /// it is referenced weakly, and closed with its container.
  struct Companion {
    std::weak_ptr<const Source> file;
    SourcePtr directory;
  };
  using Map = std::map<std::string, Companion>;

  static constexpr size_t kForgetAt = 1024;

  Map Known() const;
  /// Removes closed files when they may be most of the map.
  void ForgetClosed() CTXFS_REQUIRES(mutex_);

  const Map before_{};
  mutable Mutex mutex_;
  Map opened_ CTXFS_GUARDED_BY(mutex_);
  size_t forget_at_ CTXFS_GUARDED_BY(mutex_) = kForgetAt;
  std::atomic<bool> asked_ = false;
};

}  // namespace ctxfs
