// SPDX-License-Identifier: Apache-2.0
#include "core/content/content_source.h"

namespace ctxfs {

Status ContentSource::ReadAt(uint64_t offset, MutableBytes out,
                             const Request& request) const {
  if (!InBounds(offset, out.size(), size())) {
    return Error{Code::kCorrupt, "read past the end", offset};
  }
  CTXFS_TRY(ReadInto(content_, offset, out, {cache_, request.WithoutWork()}));
  return CheckUnchanged();
}

}  // namespace ctxfs
