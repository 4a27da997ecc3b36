// SPDX-License-Identifier: Apache-2.0
#include "core/container/entry_file_table.h"

namespace ctxfs {

std::optional<std::string_view> EntryFileTable::Path(
    uint32_t entry, std::string& scratch) const {
  if (!MayHave(entry)) return std::nullopt;
  const std::optional<std::string_view> path = entries_->Path(entry, scratch);
  if (!path || suffix_.empty()) return path;
  if (path->data() != scratch.data()) scratch.assign(*path);
  return scratch += suffix_;
}

std::string_view UnnamedEntryPath(uint32_t entry, std::string& scratch) {
  scratch = "#";
  return scratch += std::to_string(entry);
}

}  // namespace ctxfs
