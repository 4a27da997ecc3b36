// SPDX-License-Identifier: Apache-2.0
#include "core/tree/safe_name.h"

#include <xxhash.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "core/base/limits.h"
#include "core/container/archive/plain_name.h"

namespace ctxfs {
namespace {

constexpr size_t kCutAt = 230;
constexpr std::string_view kHashMark = "%~";
constexpr size_t kHashDigits = 16;
constexpr size_t kMarkRoom = 16;  // "~file~" and a ten-digit number

/// The longest prefix of at most `size` bytes that splits no UTF-8 character.
std::string_view CutAtCharacter(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  constexpr size_t kLongestTail = 3;
  for (size_t back = 0; back <= std::min(kLongestTail, size); ++back) {
    const auto next = static_cast<unsigned char>(text[size - back]);
    if ((next & 0xC0U) != 0x80U) return text.substr(0, size - back);
  }
  return text.substr(0, size);  // not UTF-8: cut anywhere
}

bool EndsInHash(std::string_view text) {
  if (text.size() < kHashMark.size() + kHashDigits) return false;
  const std::string_view tail =
      text.substr(text.size() - kHashMark.size() - kHashDigits);
  return tail.starts_with(kHashMark) &&
         tail.find_first_not_of("0123456789abcdef", kHashMark.size()) ==
             std::string_view::npos;
}

/// Returns whether `text` may be the encoded form of another component.
bool ReadsAsEncoded(std::string_view text) {
  if (text.find('%') == std::string_view::npos) return false;
  for (const std::string_view escape : {"%00", "%25", "%2F"}) {
    if (text.find(escape) != std::string_view::npos) return true;
  }
  return text == "%" || text == "%2E" || text == "%2E%2E" || EndsInHash(text);
}

bool HasForbidden(std::string_view text) {
  return text.find_first_of(std::string_view("\0/", 2)) !=
         std::string_view::npos;
}

/// Returns whether `text` is a valid file name and not the encoded form of
/// another component.
bool IsSafe(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         text.size() <= limits::kComponentBytes && !HasForbidden(text) &&
         !ReadsAsEncoded(text);
}

}  // namespace

std::string SafeComponent(std::string_view component) {
  if (IsSafe(component)) return std::string(component);
  if (component.empty()) return "%";
  if (component == ".") return "%2E";
  if (component == "..") return "%2E%2E";
  const bool only_long = !HasForbidden(component) && !ReadsAsEncoded(component);
  std::string safe;
  for (const char c : component) {
    if (c == '\0') {
      safe += "%00";
    } else if (c == '/') {
      safe += "%2F";
    } else if (c == '%' && !only_long) {
      safe += "%25";
    } else {
      safe += c;
    }
  }
  if (safe.size() <= limits::kComponentBytes) return safe;
  char hash[kHashDigits + 1];
  std::snprintf(hash, sizeof(hash), "%016" PRIx64,
                uint64_t{XXH64(component.data(), component.size(), 0)});
  safe = CutAtCharacter(safe, kCutAt);
  safe += kHashMark;
  safe += hash;
  return safe;
}

void SafePath::Append(std::string_view component) {
  if (IsSafe(component)) {
    components_.push_back(component);
  } else {
    components_.emplace_back(encoded_.emplace_back(SafeComponent(component)));
  }
}

std::span<const std::string_view> SafePath::Split(std::string_view name) {
  components_.clear();
  encoded_.clear();
  size_t slash = 0;
  while (components_.size() < limits::kComponents &&
         (slash = name.find('/')) != std::string_view::npos) {
    Append(name.substr(0, slash));
    name.remove_prefix(slash + 1);
  }
  Append(name);
  return components_;
}

std::span<const std::string_view> SafePath::SplitPlain(std::string_view name) {
  return Split(PlainPathOf(name, plain_));
}

std::string SafeTarget(std::string_view target) {
  std::string safe;
  while (true) {
    const size_t slash = target.find('/');
    const std::string_view part = target.substr(0, slash);
    const bool name = !part.empty() && part != "." && part != "..";
    safe += name ? SafeComponent(part) : std::string(part);
    if (slash == std::string_view::npos) return safe;
    safe += '/';
    target.remove_prefix(slash + 1);
  }
}

std::string MarkedComponent(std::string_view component, std::string_view mark,
                            bool before_extension) {
  size_t dot = component.size();
  if (before_extension) {
    const size_t last = component.rfind('.');
    // A leading dot does not start an extension, and a long tail is not one.
    if (last != std::string_view::npos && last > 0 &&
        component.size() - last <= kCutAt) {
      dot = last;
    }
  }
  const std::string_view extension = component.substr(dot);
  std::string_view stem = component.substr(0, dot);
  // Cuts at the same place for every mark: names that are cut alike have the
  // same numbered names (free_names.cc).
  if (component.size() + kMarkRoom > limits::kComponentBytes) {
    stem = CutAtCharacter(
        stem, limits::kComponentBytes - kMarkRoom - extension.size());
  }
  std::string marked(stem);
  marked += mark;
  marked += extension;
  return marked;
}

}  // namespace ctxfs
