// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/read_context.h"
#include "core/vfs/containers/mounted_containers.h"

namespace ctxfs {

/// Opens a container anew, from the same file, after a change of ctime alone. A
/// chmod, rename or link changes ctime, and so does a write after which mtime
/// is set back. So nothing of the container is verified any more, and nothing
/// that was decoded is kept. If that reads other bytes than the first time, the
/// container is another one, and stale.
///
/// No simpler rule keeps what docs/tree.md promises (section 8). To ignore
/// ctime would serve bytes that were forged after they were verified (promise
/// 1). To make every change of ctime stale would end the readers of a container
/// that somebody only renames or links (promise 4). To drop verdicts and
/// blocks, but not what was parsed, would leave tables that a format read from
/// the old bytes, unless each format took part. Safe for any number of threads.
class Renewal {
 public:
  /// Containers that a file is in, outermost first.
  using Chain = std::vector<MountedContainers::Number>;

  /// How often a file that keeps changing is reopened for one request.
  static constexpr int kMax = 4;

  Renewal(MountedContainers& containers, const OpenOptions& options)
      : containers_(containers), options_(options) {}

  /// Opens anew the outermost stale container of `chain`; if none is, the
  /// outermost, since the stale file may be one that it names. Returns whether
  /// that was done.
  bool Renew(const Chain& chain, const ReadContext& context);

  /// Notes that renewing did not help. For one second, only containers of
  /// `chain` that are stale themselves are then renewed.
  void GiveUp(const Chain& chain);

 private:
  bool RenewOne(const MountedContainers::Tree& tree, bool lose,
                const ReadContext& context);
  /// Opens a container again. Sets `changed` if it fails because more than the
  /// ctime of its file has changed.
  Result<std::shared_ptr<const Container>> OpenAgain(
      const ContainerSource& tree, bool& changed, const ReadContext& context);
  bool IsGivenUp(MountedContainers::Number number) const;

  MountedContainers& containers_;
  const OpenOptions& options_;
  mutable Mutex mutex_;
  std::unordered_map<MountedContainers::Number,
                     std::chrono::steady_clock::time_point>
      given_up_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
