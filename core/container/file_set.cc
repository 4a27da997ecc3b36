// SPDX-License-Identifier: Apache-2.0
#include "core/container/file_set.h"

namespace ctxfs {
namespace {

class FunctionTable final : public FileTable {
 public:
  explicit FunctionTable(FileSet set)
      : FileTable(std::move(set.placement)), set_(std::move(set)) {}

  uint32_t count() const override { return set_.count; }
  std::optional<std::string_view> Path(uint32_t file,
                                       std::string& scratch) const override {
    return set_.path(file, scratch);
  }
  Result<Content> Open(uint32_t file,
                       const ReadContext& context) const override {
    return set_.open(file, context);
  }
  FileFacts Facts(uint32_t file) const override {
    return set_.facts ? set_.facts(file) : FileFacts();
  }
  Result<uint64_t> Size(uint32_t file,
                        const ReadContext& context) const override {
    return set_.size ? set_.size(file, context)
                     : FileTable::Size(file, context);
  }
  Result<bool> Exists(uint32_t file, Cost most,
                      const ReadContext& context) const override {
    return set_.exists ? set_.exists(file, most, context)
                       : FileTable::Exists(file, most, context);
  }
  std::optional<EntryInfo> Describe(uint32_t file,
                                    const ReadContext& context) const override {
    if (!set_.describe) return std::nullopt;
    return set_.describe(file, context);
  }

 private:
  const FileSet set_;
};

}  // namespace

std::shared_ptr<const FileTable> MakeTable(FileSet set) {
  return std::make_shared<const FunctionTable>(std::move(set));
}

std::shared_ptr<const FileTable> EmptyTable() {
  return MakeTable(
      {.placement = {.role = Role::kEntries},
       .count = 0,
       .path = &NoPath,
       .open = [](uint32_t /*file*/,
                  const ReadContext& /*context*/) -> Result<Content> {
         return Error{Code::kNotFound, "no such file"};
       }});
}

PathFunction PathsOfEntries(std::shared_ptr<const FileTable> entries,
                            std::function<bool(uint32_t)> may_have,
                            std::string suffix) {
  return [entries = std::move(entries), may_have = std::move(may_have),
          suffix = std::move(suffix)](
             uint32_t entry,
             std::string& scratch) -> std::optional<std::string_view> {
    if (!may_have(entry)) return std::nullopt;
    const std::optional<std::string_view> path = entries->Path(entry, scratch);
    if (!path || suffix.empty()) return path;
    if (path->data() != scratch.data()) scratch.assign(*path);
    return scratch += suffix;
  };
}

std::string_view UnnamedEntryPath(uint32_t entry, std::string& scratch) {
  scratch = "#";
  return scratch += std::to_string(entry);
}

}  // namespace ctxfs
