// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/revalidation.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <string>

#include "core/io/urls/url.h"

namespace ctxfs {
namespace {

// linux/magic.h lacks these two.
constexpr uint32_t kLustreMagic = 0x0bd00bd0;
constexpr uint32_t kGpfsMagic = 0x47504653;

/// File systems whose files can be changed by other machines or by a daemon,
/// which inotify(7) does not report.
constexpr uint32_t kRemoteFileSystems[] = {
    NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
    CEPH_SUPER_MAGIC, CODA_SUPER_MAGIC, AFS_SUPER_MAGIC,  AFS_FS_MAGIC,
    V9FS_MAGIC,       FUSE_SUPER_MAGIC, kLustreMagic,     kGpfsMagic};

bool IsOnLocalFileSystem(const std::string& path) {
  struct statfs found {};
  return ::statfs(path.c_str(), &found) == 0 &&
         std::ranges::find(kRemoteFileSystems,
                           static_cast<uint32_t>(found.f_type)) ==
             std::ranges::end(kRemoteFileSystems);
}

/// Whether an option applies to single opens. The kernel reports no opens if it
/// opens files without OPEN requests.
bool NeedsOpens(const MountOptions& options) {
  return options.verify == VerifyMode::kOpen ||
         options.passthrough == Passthrough::kOn ||
         options.materialize_bytes > 0;
}

bool MayOpenWithoutRequest(const Sources& sources,
                           const MountOptions& options) {
  return sources.container != nullptr && !NeedsOpens(options) &&
         !sources.container->source()->is_directory() &&
         sources.container->warnings().empty() &&
         !sources.container->PartsFailAlone() &&
         !IsUrl(options.sources.front()) &&
         IsOnLocalFileSystem(options.sources.front());
}

}  // namespace

void ChooseRevalidation(const Sources& sources, MountOptions& options) {
  if (!options.revalidate_auto) return;
  const bool without = MayOpenWithoutRequest(sources, options);
  options.revalidate = without ? 1 : 0;
  if (without) options.passthrough = Passthrough::kOff;
}

}  // namespace ctxfs
