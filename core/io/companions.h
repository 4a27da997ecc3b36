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

/// The files and directories that were opened beside a source. When the source
/// is renewed, those that have no name any more are taken from here: a
/// container of several files that was removed stays readable. Safe for any
/// number of threads.
class Companions {
 public:
  using Opened = Result<SourcePtr>;

  Companions() = default;
  /// Starts with what `before` opened.
  explicit Companions(const Companions& before)
      : before_(before.Known()), asked_(before.asked()) {}

  /// Opens the companion at `path` by `open`; if it has no name any more,
  /// renews the one that was opened before.
  Opened Open(const std::string& path, const std::function<Opened()>& open);

  /// Fails with kStale if one that is open, or one beside it, has changed.
  Status CheckUnchanged() const;
  /// Whether one was ever asked for.
  bool asked() const { return asked_; }

 private:
  /// A directory has no descriptor, so it is kept; a file only while its
  /// container is open.
  struct Companion {
    std::weak_ptr<const Source> file;
    SourcePtr directory;
  };
  using Map = std::map<std::string, Companion>;

  Map Known() const;

  const Map before_{};
  mutable Mutex mutex_;
  Map opened_ CTXFS_GUARDED_BY(mutex_);
  std::atomic<bool> asked_ = false;
};

}  // namespace ctxfs
