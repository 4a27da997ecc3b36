// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/formats/mcap/index.h"

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

/// Compares the place and, with `verify`, the checksum of the summary with the
/// file, whose data begins at `data`. Fails with "summary" or "summary_crc".
Status CheckSummary(const Source& source, const Footer& footer, uint64_t data,
                    bool verify, const Request& request);

/// What the summary says (docs/formats/mcap.md, section 6).
struct Summary {
  /// Set if the summary proves that it is complete.
  std::optional<Index> index;
  /// Why it contradicts itself or the file; empty if it is complete, or only
  /// lacks records.
  std::string contradiction;
  // Of the statistics, if there are any:
  std::optional<uint64_t> messages;
  std::map<Op, uint64_t> records;  // number of those in the summary
};

/// Reads a summary that CheckSummary accepts. Fails with kCorrupt, "summary",
/// if its records do not end at the footer.
Result<Summary> ReadSummary(const Source& source, const Footer& footer,
                            uint64_t data, const Request& request);

}  // namespace ctxfs::mcap
