// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace ctxfs {

/// Who may read a file, by its owner and permission bits. With allow_other,
/// only these users and the mounting user may read what a mount shows of the
/// file.
struct ReadAccess {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t bits = 0444;  // of read permission; for directories also of search

  static ReadAccess Of(const struct stat& st) {
    mode_t bits = st.st_mode & 0444;
    if (S_ISDIR(st.st_mode)) bits &= (st.st_mode & 0111) << 2;
    return {st.st_uid, st.st_gid, bits};
  }

  /// Whether everyone who may read a file of `others` may also read this one.
  bool Include(const ReadAccess& others) const {
    if (bits == 0444) return true;
    return uid == others.uid && gid == others.gid && (others.bits & ~bits) == 0;
  }
};

}  // namespace ctxfs
