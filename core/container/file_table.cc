// SPDX-License-Identifier: Apache-2.0
#include "core/container/file_table.h"

#include <memory>

namespace ctxfs {
namespace {

class NoFiles final : public FileTable {
 public:
  NoFiles() : FileTable({.role = Role::kEntries}) {}

  uint32_t count() const override { return 0; }
  std::optional<std::string_view> Path(uint32_t /*file*/,
                                       std::string& /*s*/) const override {
    return std::nullopt;
  }
  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& /*context*/) const override {
    return Error{Code::kNotFound, "no such file"};
  }
};

}  // namespace

Result<uint64_t> SizeOf(const Result<Content>& opened) {
  if (opened) return opened->size();
  if (!opened.error().Permanent()) return opened.error();
  return 0;
}

Result<uint64_t> FileTable::Size(uint32_t file,
                                 const ReadContext& context) const {
  if (const std::optional<uint64_t> known = KnownSize(file)) return *known;
  return SizeOf(Open(file, context));
}

Result<bool> FileTable::Exists(uint32_t file, Cost /*most*/,
                               const ReadContext& context) const {
  if (exists_cost() == Cost::kNone) return true;
  const Result<Content> opened = Open(file, context);
  if (!opened && !opened.error().Permanent()) return opened.error();
  return opened.has_value();
}

Access FileTable::access(uint32_t file) const {
  const std::optional<Error> fault = Fault(file);
  if (!fault) return Access::kOk;
  return fault->code == Code::kLocked ? Access::kLocked : Access::kUnreadable;
}

std::shared_ptr<const FileTable> EmptyTable() {
  return std::make_shared<const NoFiles>();
}

}  // namespace ctxfs
