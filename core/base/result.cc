// SPDX-License-Identifier: Apache-2.0
#include "core/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace ctxfs {

void AbortOnWrongResult() {
  std::fputs("ctxfs: bug: a Result was not tested before it was used\n",
             stderr);
  std::abort();
}

}  // namespace ctxfs
