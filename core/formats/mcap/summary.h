// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/request.h"
#include "core/base/result.h"
#include "core/formats/mcap/index.h"
#include "core/formats/mcap/records.h"
#include "core/io/source.h"

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

/// Compares the place and the checksum of the summary with the file, whose
/// data begins at `data`. Fails with "summary" or "summary_crc".
Status CheckSummary(const Source& source, const Footer& footer, uint64_t data,
                    bool verify, const Request& request);

/// What a Statistics record says.
struct Statistics {
  uint64_t messages;
  uint16_t schemas;
  uint32_t channels;
  uint32_t attachments;
  uint32_t metadata;
  uint32_t chunks;
  uint64_t first_time;
  uint64_t last_time;
};

/// The index of a file by its summary (docs/formats/mcap.md, section 6).
struct Summary {
  /// Set if the summary proves that it is complete.
  std::optional<Index> index;
  /// Why it contradicts itself or the file; empty if it is complete, or only
  /// lacks records.
  std::string contradiction;
  std::optional<Statistics> statistics;
};

/// Reads a summary that CheckSummary accepts. Fails with kCorrupt, "summary",
/// if its records do not end at the footer.
Result<Summary> ReadSummary(const Source& source, const Footer& footer,
                            uint64_t data, const Request& request);

/// Adds the schemas and channels of a summary to `builder`.
Status AddSummaryChannels(const Source& source, const Footer& footer,
                          IndexBuilder& builder, const Request& request);

}  // namespace ctxfs::mcap
