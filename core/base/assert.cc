// SPDX-License-Identifier: Apache-2.0
#include "core/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace ctxfs {

void FailAssertion(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  std::abort();
}

}  // namespace ctxfs
