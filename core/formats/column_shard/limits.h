// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs::column_shard {

/// Columns of a table (docs/formats/columnshard.md, section 6).
constexpr uint64_t kMaxColumns = 100'000;
/// Rows of a row group if the coding needs less than a byte per row (section
/// 6).
constexpr uint64_t kMaxGroupRows = 1 << 25;
/// Bytes of chunks with wrong statistics that opening decodes to count rows
/// (docs/formats/columnshard.md, section 4).
constexpr uint64_t kMaxHeaderBytes = 16 * limits::kMiB;

}  // namespace ctxfs::column_shard
