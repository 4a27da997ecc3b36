// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/count_of.h"

#include <utility>

namespace ctxfs {

std::string NounOf(uint64_t count, std::string noun) {
  if (count == 1) return noun;
  const bool ends_with_y = noun.ends_with("ry") || noun.ends_with("ty");
  if (ends_with_y) noun.pop_back();
  return noun + (ends_with_y ? "ies" : "s");
}

std::string CountOf(uint64_t count, std::string noun) {
  return std::to_string(count) + " " + NounOf(count, std::move(noun));
}

}  // namespace ctxfs
