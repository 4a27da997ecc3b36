// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/container/file_table.h"

namespace ctxfs {

/// FileTable::Path as a function. A function that returns a std::string does
/// not compile, because nothing would own that text.
class PathFunction {
 public:
  using Path = std::optional<std::string_view>;

  template <typename Function>
  requires std::is_invocable_v<Function&, uint32_t, std::string&>
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the function
  PathFunction(Function function) : function_(std::move(function)) {
    using Returned = std::invoke_result_t<Function&, uint32_t, std::string&>;
    static_assert(!std::same_as<Returned, std::string>);
  }

  Path operator()(uint32_t file, std::string& scratch) const {
    return function_(file, scratch);
  }

 private:
  std::function<Path(uint32_t, std::string&)> function_;
};

/// A FileTable given as functions, named like those of FileTable. Null
/// functions behave like the defaults of FileTable. Functions may refer to
/// objects that `owner` keeps alive: usually they capture `this`, and `owner`
/// is Share(*this).
struct FileSet {
  Placement placement = {};
  uint32_t count = 1;
  PathFunction path;
  std::function<Result<Content>(uint32_t, const ReadContext&)> open;
  std::function<FileFacts(uint32_t)> facts = nullptr;
  std::function<Result<uint64_t>(uint32_t, const ReadContext&)> size = nullptr;
  std::function<Result<bool>(uint32_t, Cost, const ReadContext&)> exists =
      nullptr;
  std::function<std::optional<EntryInfo>(uint32_t, const ReadContext&)>
      describe = nullptr;
  std::shared_ptr<const void> owner = nullptr;
};

std::shared_ptr<const FileTable> MakeTable(FileSet set);

std::shared_ptr<const FileTable> EmptyTable();

/// The `path` of a table with Placement::numbering. It is never called.
inline std::optional<std::string_view> NoPath(uint32_t /*file*/,
                                              std::string& /*scratch*/) {
  return std::nullopt;
}

/// The paths of files derived from entries: at most one per entry, with the
/// entry's number, its path and a suffix. `may_have` returns whether an entry
/// may have a file, according to the index.
PathFunction PathsOfEntries(std::shared_ptr<const FileTable> entries,
                            std::function<bool(uint32_t)> may_have,
                            std::string suffix = {});

/// The path of an unnamed entry: "#N".
std::string_view UnnamedEntryPath(uint32_t entry, std::string& scratch);

}  // namespace ctxfs
