// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/container/format.h"
#include "core/formats/mcap/chunks.h"

namespace ctxfs::mcap {

/// Reads the index of a file whose data begins at byte `data`, which is an
/// error if the header record is faulty (docs/formats/mcap.md, section 6): by
/// the summary if it proves that it is complete, else by a walk. Fails with
/// "header", "no_footer", "summary", "summary_crc" or "record". With
/// OpenOptions::salvage, a file that is damaged or was truncated is walked up
/// to its first invalid record.
Result<Index> ReadIndex(const Chunks& chunks, const Result<uint64_t>& data,
                        const OpenOptions& options, const ReadContext& context);

}  // namespace ctxfs::mcap
