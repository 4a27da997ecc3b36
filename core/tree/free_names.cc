// SPDX-License-Identifier: Apache-2.0
#include "core/tree/free_names.h"

#include <fmt/core.h>

#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

/// The name with `number` in it; 1 stands for no number.
std::string Numbered(const FreeNames::Series& series, uint64_t number) {
  if (number == 1 && series.mark.empty()) return std::string(series.name);
  std::string mark(series.mark);
  if (number > 1) mark += fmt::format("~{}", number);
  return MarkedComponent(series.name, mark,
                         /*before_extension=*/series.mark.empty());
}

/// The key of a series. Long names that are shortened alike get the same
/// numbered names, so they have the same key. A slash is not part of any name,
/// so it separates the parts of the key.
std::string KeyOf(const FreeNames::Series& series) {
  return fmt::format("{}{}/{}", series.directory, series.mark,
                     MarkedComponent(series.name, "/", series.mark.empty()));
}

}  // namespace

std::string FreeNames::Find(
    const Series& series,
    const std::function<bool(const std::string&)>& taken) {
  constexpr uint64_t kTriesBeforeMemory = 4;
  const uint64_t first = series.first_is_taken ? 2 : 1;
  uint64_t* next = nullptr;
  for (uint64_t number = first;; ++number) {
    if (next == nullptr && number == first + kTriesBeforeMemory) {
      next = &next_.try_emplace(KeyOf(series), number).first->second;
      number = *next;
    }
    std::string name = Numbered(series, number);
    ++tried_;
    const bool free = !taken(name);
    if (next != nullptr) *next = number + 1;
    if (free) return name;
  }
}

}  // namespace ctxfs
