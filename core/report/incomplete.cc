// SPDX-License-Identifier: Apache-2.0
#include "core/report/incomplete.h"

#include <fmt/core.h>

#include <cerrno>

#include "core/container/complete.h"

namespace ctxfs {

Result<std::optional<std::string>> IncompleteText(const Container& container,
                                                  const ReadContext& context) {
  const std::string view = JoinedView(container.Export());
  if (view.empty()) return std::optional<std::string>();
  const Status complete = CheckComplete(container, context);
  if (complete) return std::optional<std::string>();
  const Error& why = complete.error();
  const bool too_much = why.code == Code::kLimit && why.sys_errno == EFBIG;
  if (too_much || why.Passing()) return why;
  return std::optional(
      fmt::format("there is no views/{}: {}", view, why.Text()));
}

}  // namespace ctxfs
