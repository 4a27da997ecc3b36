// SPDX-License-Identifier: Apache-2.0
#include "core/container/format.h"

#include <algorithm>

#include "core/base/limits.h"

namespace ctxfs {

Result<Buffer> ReadHead(const Source& source, const Request& request) {
  return ReadBuffer(source, 0,
                    std::min<uint64_t>(source.size(), limits::kProbeBytes),
                    "header", request);
}

}  // namespace ctxfs
