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

/// Reopens a container from the same file after a change of ctime alone. chmod,
/// rename and link change ctime, and so does a write that sets mtime back
/// afterwards. Renewing therefore drops all verdicts and all decoded data of
/// the container. If opening reads other bytes than the first time, the
/// container is another one, and stale.
///
/// No simpler rule keeps the promises of docs/tree.md, section 8. Ignoring
/// ctime would serve bytes that were forged after they were verified (promise
/// 1). Treating every change of ctime as stale would fail the readers of a
/// container that is only renamed or linked (promise 4). Dropping verdicts and
/// blocks, but not parsed tables, would keep tables parsed from the old bytes,
/// unless each format took part. Safe for any number of threads.
class Renewal {
 public:
  /// Containers that a file is in, outermost first.
  using Chain = std::vector<MountedContainers::Number>;

  /// Maximum number of reopenings of a changing file per request.
  static constexpr int kMax = 4;

  Renewal(MountedContainers& containers, const OpenOptions& options)
      : containers_(containers), options_(options) {}

  /// Reopens the outermost stale container of `chain`; if none is stale, the
  /// outermost, because the stale file may be one that it names. Returns
  /// whether a container was reopened.
  bool Renew(const Chain& chain, const ReadContext& context);

  /// Records that renewing did not help. For one second, only containers of
  /// `chain` that are stale themselves are then renewed.
  void GiveUp(const Chain& chain);

 private:
  bool RenewOne(const MountedContainers::Tree& tree, bool lose,
                const ReadContext& context);
  /// Reopens a container. Sets `changed` if it fails because more than the
  /// ctime of the file has changed.
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
