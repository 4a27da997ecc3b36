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

/// A table as one Arrow record batch. It stores the numbers of the columns
/// unchanged, except bfloat16.
struct ArrowTable {
  uint64_t rows = 0;
  std::vector<ArrowField> fields;
  std::vector<ArrowNode> nodes;      // one per field, two if it is a list
  std::vector<ArrowBuffer> buffers;  // for each node, validity first
  Content body;                      // all buffers
};

/// Reads all columns of lines to find their sizes, and the validity columns to
/// count nulls. Converts bfloat16 to float32.
Result<ArrowTable> MakeArrowTable(
    const std::shared_ptr<const Container>& container, Table table,
    const ReadContext& context);

}  // namespace ctxfs
