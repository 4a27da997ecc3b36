// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/container/file_table.h"

namespace ctxfs {

/// Files derived from entries: at most one per entry, with the entry's number
/// and path, and a suffix.
class EntryFileTable : public FileTable {
 public:
  uint32_t count() const final { return entries_->count(); }

  std::optional<std::string_view> Path(uint32_t entry,
                                       std::string& scratch) const final;

  /// Whether the entry may have a file, as far as the index tells. Called once
  /// per entry, when the tree is built; reads nothing.
  virtual bool MayHave(uint32_t entry) const = 0;

 protected:
  EntryFileTable(std::shared_ptr<const FileTable> entries, Role role,
                 std::string directory, std::string_view suffix = {})
      : FileTable({.role = role, .directory = std::move(directory)}),
        entries_(std::move(entries)),
        suffix_(suffix) {}

  const FileTable& entries() const { return *entries_; }

 private:
  const std::shared_ptr<const FileTable> entries_;
  const std::string suffix_;
};

/// The path of an entry without a name: "#N".
std::string_view UnnamedEntryPath(uint32_t entry, std::string& scratch);

}  // namespace ctxfs
