// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ctxfs {

/// Whether a plain path omits a component of a name (docs/tree.md, section 7).
constexpr bool IsLeftOut(std::string_view component) {
  return component.empty() || component == ".";
}

/// Removes and returns the first component of `rest`.
std::string_view TakeComponent(std::string_view& rest);

/// Whether the plain path of a file differs from its name: some component is
/// omitted. False if the name ends in such a component.
bool HasPlainPath(std::string_view name);

/// `name` without the components that a plain path omits. Points into `scratch`
/// if it differs from `name`.
std::string_view PlainPathOf(std::string_view name, std::string& scratch);

/// A directory's name without trailing slashes and "/."; empty for the root.
std::string_view DirectoryName(std::string_view name);

}  // namespace ctxfs
