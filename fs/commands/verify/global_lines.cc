// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/global_lines.h"

#include <algorithm>

#include "core/base/text/text.h"

namespace ctxfs {
namespace {

/// Returns a name as printed: quoted if it is long or has characters other than
/// printable ASCII without spaces. A hostile file could otherwise imitate
/// output of ctxfs or move the cursor.
std::string LineOf(const std::string& name) {
  constexpr size_t kShort = 160;
  const bool plain = !name.empty() && name.size() <= kShort &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return c > ' ' && c < 0x7F && c != '\'';
                     });
  return plain ? name : Quote(name);
}

}  // namespace

GlobalLines GlobalsOf(const Json& info, size_t most, bool unsafe_only) {
  GlobalLines lines;
  const auto list = info.find("globals");
  if (list == info.end() || !list->is_array()) return lines;
  for (const bool safe : {false, true}) {
    if (safe && unsafe_only) break;
    for (const Json& one : *list) {
      if (!one.is_object() || one.value("safe", false) != safe) continue;
      if (lines.shown.size() == most) {
        ++lines.more;
      } else {
        lines.shown.push_back({LineOf(one.value("name", "")), safe});
      }
    }
  }
  return lines;
}

}  // namespace ctxfs
