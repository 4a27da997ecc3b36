// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Returns a table as CSV (docs/views.md, section 7). Renders the whole file
/// once, to measure it.
Result<Content> MakeCsv(const std::shared_ptr<const Container>& container,
                        Table table, const ReadContext& context);

/// Returns a table as an Arrow IPC file (docs/views.md, section 8). Reads the
/// same data as MakeArrowTable.
Result<Content> MakeArrowFile(const std::shared_ptr<const Container>& container,
                              Table table, const ReadContext& context);

}  // namespace ctxfs
