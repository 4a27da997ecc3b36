// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/kept_identity.h"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/codec/crypto/digest.h"
#include "core/io/identity.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

/// A digest of the first and last 64 KiB of `file`, which is `size` bytes long.
Result<std::string> DigestOfEnds(int file, uint64_t size) {
  constexpr uint64_t kEnd = 64 * limits::kKiB;
  Sha256 digest;
  Buffer end(static_cast<size_t>(std::min(kEnd, size)));
  for (const uint64_t at : {uint64_t{0}, size - end.size()}) {
    const ssize_t n =
        ::pread(file, end.data(), end.size(), static_cast<off_t>(at));
    if (n < 0) return IoError("cannot read the file", at);
    if (static_cast<size_t>(n) != end.size()) {
      return Error{Code::kStale, "the file is shorter than it was", at};
    }
    digest.Update(end.span());
  }
  std::string hex = digest.Hex();
  if (hex.empty()) return Error{Code::kNoMemory, "no memory for a digest"};
  return hex;
}

}  // namespace

Result<std::string> KeptIdentity(int file, const struct stat& st,
                                 const struct statfs& fs) {
  const FileIdentity of = FileIdentity::Of(st);
  if (fs.f_type == FUSE_SUPER_MAGIC) {
    return Error{Code::kUnsupported, "a FUSE file system may imitate another"};
  }
  const auto id = std::bit_cast<std::array<int, 2>>(fs.f_fsid);
  if (major(st.st_dev) == 0 && id == std::array<int, 2>{}) {
    return Error{Code::kUnsupported, "the file system has no identifier"};
  }
  const std::string ends = CTXFS_TRY(DigestOfEnds(file, of.size));
  return fmt::format("{}:{}:{}:{}.{}:{}.{}:{}.{}.{:o}:{}:{}.{}:{}", of.device,
                     of.inode, of.size, of.mtime.seconds, of.mtime.nanoseconds,
                     of.ctime.seconds, of.ctime.nanoseconds, st.st_uid,
                     st.st_gid, st.st_mode, fs.f_type, id[0], id[1], ends);
}

}  // namespace ctxfs
