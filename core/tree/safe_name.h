// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Splits entry names, as stored, into path components that are each safe to be
/// a file name. Different names never give the same components:
///  - an empty one becomes "%", "." and ".." become "%2E" and "%2E%2E", NUL
///    becomes "%00", and '/' in what lies below the 255th component "%2F";
///  - one that would read as such an encoding has its '%' written "%25";
///  - one longer than 255 bytes is cut at 230, on a character boundary, and
///    gets "%~" and the 16 hex digits of its xxHash64;
///  - all other bytes stay as they are.
class SafePath {
 public:
  /// The components of `name`, valid until the next Split; views into `name`
  /// where nothing had to be encoded.
  std::span<const std::string_view> Split(std::string_view name);
  /// The components of the plain path of `name` (HasPlainPath): without those
  /// that are left out.
  std::span<const std::string_view> SplitPlain(std::string_view name);

 private:
  void Append(std::string_view component);

  std::vector<std::string_view> components_;
  std::deque<std::string> encoded_;
  std::string plain_;
};

/// SafePath's rules for one component, '/' being like any other byte to encode.
std::string SafeComponent(std::string_view component);

/// Returns the target of a symbolic link with each name in it made safe, as the
/// tree does with names. Empty parts, "." and ".." stay, as the kernel
/// interprets them.
std::string SafeTarget(std::string_view target);

/// `component` with `mark` before its extension (`before_extension`) or at its
/// end, shortened in its stem if need be: "a.txt" and "~2" give "a~2.txt".
/// Marks have at most 16 bytes.
std::string MarkedComponent(std::string_view component, std::string_view mark,
                            bool before_extension);

}  // namespace ctxfs
