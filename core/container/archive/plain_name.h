// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ctxfs {

/// Whether a plain path leaves a component of a name out (docs/tree.md,
/// section 7).
constexpr bool IsLeftOut(std::string_view component) {
  return component.empty() || component == ".";
}

/// Takes the first component off `rest`.
std::string_view TakeComponent(std::string_view& rest);

/// Whether the plain path of a file is another one than its name: some
/// component is left out. A name that ends in such a component has no other.
bool HasPlainPath(std::string_view name);

/// `name` without the components that a plain path leaves out. Points into
/// `scratch` if that is another name.
std::string_view PlainPathOf(std::string_view name, std::string& scratch);

/// The name of a directory without the slashes and "/." at its end; empty for
/// the root.
std::string_view DirectoryName(std::string_view name);

}  // namespace ctxfs
