// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A table as CSV (docs/views.md, section 7). Renders all of it once, to
/// measure it.
Result<Content> MakeCsv(const std::shared_ptr<const Container>& container,
                        Table table, const ReadContext& context);

/// A table as an Arrow IPC file (docs/views.md, section 8). Reads what
/// MakeArrowTable does.
Result<Content> MakeArrowFile(const std::shared_ptr<const Container>& container,
                              Table table, const ReadContext& context);

}  // namespace ctxfs
