// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/table.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The first 20 rows of the first `most_columns` columns of a table: {"rows",
/// "columns": [{"name", "type", "cells": [text or null for null]}], "more":
/// number of further columns}. A column that cannot be read has an "error"
/// instead of cells. Texts are cut after 80 bytes, and lists of numbers after
/// at most 34 bytes. Reads at most 64 KiB of text and 1 MiB of numbers per
/// column, so columns of large rows have fewer cells.
Result<Json> TablePreview(const std::shared_ptr<const Container>& container,
                          const Table& table, size_t most_columns,
                          const ReadContext& context);

}  // namespace ctxfs
