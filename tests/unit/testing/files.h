// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/container.h"
#include "core/container/file_table.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"

namespace ctxfs {

// Questions about one entry, each of which makes the container's tables anew:
// for loops over many entries call Container::Entries once.

inline uint32_t EntryCount(const Container& container) {
  return container.Entries()->count();
}

inline std::string EntryPath(const Container& container, uint32_t entry) {
  std::string scratch;
  const auto path = container.Entries()->Path(entry, scratch);
  return std::string(path.value_or("(none)"));
}

inline EntryInfo DescribeEntry(const Container& container, uint32_t entry) {
  const auto entries = container.Entries();
  EntryInfo info =
      entries->Describe(entry, LoneContext()).value_or(EntryInfo{});
  if (info.add_findings) info.add_findings(info, Request());
  return info;
}

inline std::optional<std::string> EntryName(const Container& container,
                                            uint32_t entry) {
  return DescribeEntry(container, entry).name;
}

/// The size, which is known without reading.
inline uint64_t EntrySize(const Container& container, uint32_t entry) {
  return container.Entries()->KnownSize(entry).value_or(UINT64_MAX);
}

inline Access AccessOf(const Container& container, uint32_t entry) {
  return container.Entries()->access(entry);
}

inline Result<Content> OpenEntry(const Container& container, uint32_t entry) {
  return container.Entries()->Open(entry, LoneContext());
}

inline bool EntryLocked(const Container& container, uint32_t entry) {
  return AccessOf(container, entry) == Access::kLocked;
}

/// Why an entry cannot be read even with a key.
inline std::optional<Error> EntryFault(const Container& container,
                                       uint32_t entry) {
  if (EntryLocked(container, entry)) return std::nullopt;
  return container.Entries()->Fault(entry);
}

inline std::vector<ArrayInfo> ArraysOf(const Container& container) {
  const Exports exports = container.Export();
  if (exports.arrays == nullptr) return {};
  return exports.arrays(LoneContext());
}

/// A file of a container's tables.
struct FoundFile {
  std::string path;  // as a mount shows it, if all names are safe and free
  std::shared_ptr<const FileTable> table;
  uint32_t number = 0;

  Result<Content> Open(const ReadContext& context) const {
    return table->Open(number, context);
  }
  std::optional<uint64_t> known_size() const {
    return table->KnownSize(number);
  }
  EntryInfo Describe() const {
    return table->Describe(number, LoneContext()).value_or(EntryInfo{});
  }
  Result<bool> Exists(const ReadContext& context) const {
    return table->Exists(number, Cost::kDecode, context);
  }
};

/// All files of a container that are neither entries nor numbered.
inline std::vector<FoundFile> FilesOf(const Container& container) {
  std::vector<FoundFile> files;
  std::string scratch;
  for (const auto& table : container.Files()) {
    const Placement& placement = table->placement();
    if (HoldsEntries(placement.role) || placement.numbering) continue;
    std::string above = placement.role == Role::kViews      ? "views/"
                        : placement.role == Role::kMetadata ? ".ctxfs/"
                        : placement.role == Role::kRaw      ? ".ctxfs/raw/"
                                                            : "";
    if (!placement.directory.empty()) above += placement.directory + "/";
    for (uint32_t i = 0; i < table->count(); ++i) {
      const auto path = table->Path(i, scratch);
      if (path) files.push_back({above + std::string(*path), table, i});
    }
  }
  return files;
}

/// The table that has a file whose path starts with `prefix`; null if none has.
inline std::shared_ptr<const FileTable> TableWith(const Container& container,
                                                  std::string_view prefix) {
  for (const FoundFile& file : FilesOf(container)) {
    if (file.path.starts_with(prefix)) return file.table;
  }
  return nullptr;
}

/// The path of a file of a table, as the table has it.
inline std::optional<std::string> PathIn(const FileTable& table,
                                         uint32_t file) {
  std::string scratch;
  const auto path = table.Path(file, scratch);
  return path ? std::optional<std::string>(*path) : std::nullopt;
}

inline std::optional<FoundFile> FindFile(const Container& container,
                                         std::string_view path) {
  for (FoundFile& file : FilesOf(container)) {
    if (file.path == path) return std::move(file);
  }
  return std::nullopt;
}

}  // namespace ctxfs
