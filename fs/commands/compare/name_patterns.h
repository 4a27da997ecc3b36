// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

/// Names that one expression stands for, as a shell expands braces:
/// "layers.{0..31}.self_attn.{k,q}_proj.weight".
struct NamePattern {
  std::string text;           // of one name: the name itself
  std::vector<size_t> names;  // their indices, ascending
};

/// Returns patterns, in the order of their first names, that together expand to
/// `names` and to nothing else; each name is in one of them. Joins names that
/// differ in one word or number, then joins the resulting patterns that differ
/// in one, and so on: first in numbers, then in words, from the left. A name
/// alone in its pattern may have any bytes; the others have only printable
/// ASCII without braces, commas, backslashes and spaces. Takes time and memory
/// in proportion to the length of all names.
std::vector<NamePattern> PatternsOf(const std::vector<std::string_view>& names);

}  // namespace ctxfs
