// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/views/tables/arrow_message.h"

namespace ctxfs {

/// A table as one record batch of Arrow's, whose numbers are the columns' own
/// bytes.
struct ArrowTable {
  uint64_t rows = 0;
  std::vector<ArrowField> fields;
  std::vector<ArrowNode> nodes;      // of each field in turn
  std::vector<ArrowBuffer> buffers;  // of each node in turn, validity first
  Content body;                      // of all buffers
};

/// Reads all columns of lines, to measure them, and what tells which values are
/// null. bfloat16 becomes float32.
Result<ArrowTable> MakeArrowTable(
    const std::shared_ptr<const Container>& container, Table table,
    const ReadContext& context);

}  // namespace ctxfs
