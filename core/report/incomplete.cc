// SPDX-License-Identifier: Apache-2.0
#include "core/report/incomplete.h"

#include <fmt/core.h>

#include <cerrno>

#include "core/container/complete.h"

namespace ctxfs {

Result<std::optional<std::string>> IncompleteText(const Container& container,
                                                  const ReadContext& context) {
  const Exports exports = container.Export();
  std::string file;
  if (!exports.bundle_name.empty()) {
    file = fmt::format("{}.safetensors", exports.bundle_name);
  } else if (exports.table != nullptr) {
    file = "table.csv";
  } else {
    return std::optional<std::string>();
  }
  const Status complete = CheckComplete(container, context);
  if (complete) return std::optional<std::string>();
  const Error& why = complete.error();
  const bool too_much = why.code == Code::kLimit && why.sys_errno == EFBIG;
  if (too_much || !why.Permanent()) return why;
  return std::optional(
      fmt::format("there is no views/{}: {}", file, why.Text()));
}

}  // namespace ctxfs
