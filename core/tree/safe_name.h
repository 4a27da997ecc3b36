// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Splits entry names, as stored, into path components that are valid file
/// names. The encoding is injective:
///  - an empty component becomes "%"; "." and ".." become "%2E" and "%2E%2E",
///    NUL becomes "%00", and '/' below the 255th component "%2F";
///  - a component that has a NUL or such a '/', or that would read as such an
///    encoding, has each '%' as "%25";
///  - a component that now has more than 255 bytes is cut to at most 230, on a
///    character boundary, and gets "%~" and the 16 hex digits of the xxHash64
///    of its stored bytes;
///  - all other bytes are unchanged.
class SafePath {
 public:
  /// The components of `name`, valid until the next Split; views into `name`
  /// unless encoded.
  std::span<const std::string_view> Split(std::string_view name);
  /// The components of the plain path of `name` (HasPlainPath), without omitted
  /// components.
  std::span<const std::string_view> SplitPlain(std::string_view name);

 private:
  void Append(std::string_view component);

  std::vector<std::string_view> components_;
  std::deque<std::string> encoded_;
  std::string plain_;
};

/// SafePath's rules for one component, in which '/' is encoded, too.
std::string SafeComponent(std::string_view component);

/// Makes each name in the target of a symbolic link safe, like names of the
/// tree. Empty parts, "." and ".." stay, as the kernel interprets them.
std::string SafeTarget(std::string_view target);

/// Inserts `mark` into `component` before its extension (`before_extension`) or
/// at its end: "a.txt" and "~2" become "a~2.txt". Shortens the stem of a
/// component of more than 239 bytes, so that any mark fits. `mark` must have at
/// most 16 bytes.
std::string MarkedComponent(std::string_view component, std::string_view mark,
                            bool before_extension);

}  // namespace ctxfs
