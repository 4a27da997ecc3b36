// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/container/format.h"
#include "core/formats/mcap/chunks.h"

namespace ctxfs::mcap {

/// The footer record, and where it stands.
struct Footer {
  uint64_t at;
  uint64_t summary;  // byte of the file; 0: none
  uint32_t crc;      // 0: none
};

/// Reads the footer. Fails with kCorrupt, "no_footer", if the file does not end
/// in one.
Result<Footer> ReadFooter(const Source& source, const Request& request);

/// Reads the index of a file whose data begins at byte `data`
/// (docs/formats/mcap.md, section 6): by the summary if it proves that it is
/// complete, else by a walk. Fails with "summary", "summary_crc" or "record".
/// With OpenOptions::salvage, a file that is damaged, or has no `footer`, is
/// walked as far as its records fit.
Result<Index> ReadIndex(const Chunks& chunks, uint64_t data,
                        const Result<Footer>& footer,
                        const OpenOptions& options, const ReadContext& context);

}  // namespace ctxfs::mcap
