// SPDX-License-Identifier: Apache-2.0
#include "core/container/file_table.h"

namespace ctxfs {

Result<uint64_t> FileTable::Size(uint32_t file,
                                 const ReadContext& context) const {
  if (const std::optional<uint64_t> known = KnownSize(file)) return *known;
  return SizeIn(Open(file, context), &Content::size);
}

Result<bool> FileTable::Exists(uint32_t file, Cost /*most*/,
                               const ReadContext& context) const {
  if (placement_.exists_cost == Cost::kNone) return true;
  return ExistsIf(Open(file, context));
}

Cost FileTable::size_cost(uint32_t file) const {
  const FileFacts facts = Facts(file);
  return facts.size ? Cost::kNone : facts.size_cost;
}

Access FileTable::access(uint32_t file) const {
  const std::optional<Error> fault = Fault(file);
  if (!fault) return Access::kOk;
  return fault->code == Code::kLocked ? Access::kLocked : Access::kUnreadable;
}

}  // namespace ctxfs
