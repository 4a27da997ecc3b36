// SPDX-License-Identifier: Apache-2.0
#include "core/container/archive/plain_name.h"

namespace ctxfs {

std::string_view TakeComponent(std::string_view& rest) {
  const size_t slash = rest.find('/');
  const std::string_view component = rest.substr(0, slash);
  rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  return component;
}

bool HasPlainPath(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string_view::npos || IsLeftOut(name.substr(slash + 1))) {
    return false;
  }
  return name.starts_with('/') || name.starts_with("./") ||
         name.find("//") != std::string_view::npos ||
         name.find("/./") != std::string_view::npos;
}

std::string_view PlainPathOf(std::string_view name, std::string& scratch) {
  if (!HasPlainPath(name)) return name;
  scratch.clear();
  while (!name.empty()) {
    const std::string_view component = TakeComponent(name);
    if (IsLeftOut(component)) continue;
    if (!scratch.empty()) scratch += '/';
    scratch += component;
  }
  return scratch;
}

std::string_view DirectoryName(std::string_view name) {
  while (!name.empty()) {
    const size_t slash = name.rfind('/');
    const size_t last = slash == std::string_view::npos ? 0 : slash + 1;
    if (!IsLeftOut(name.substr(last))) break;
    name = name.substr(0, last == 0 ? 0 : slash);
  }
  return name;
}

}  // namespace ctxfs
