// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// The records at the end of an archive (docs/formats/zip.md, sections 1 to 3).
/// Offsets are relative to the start of the file.
struct EndRecord {
  uint64_t members = 0;
  uint64_t directory_offset = 0;  // [offset, offset + size) is within the file
  uint64_t directory_size = 0;
  uint64_t base = 0;  // base of the directory's offsets
  bool zip64 = false;
  uint64_t comment_bytes = 0;
  uint64_t trailing_bytes = 0;  // of the file, after the archive
  uint64_t unused_bytes = 0;    // between zip64 record and locator
};

/// Finds and checks the end record. Fails with kCorrupt (the message starts
/// with no_eocd, zip64, directory_out_of_range or count), and with kVersion for
/// an archive of several disks (multi_disk). A zip64 record directly before its
/// locator wins over one at the locator's offset; with `salvage`, that offset
/// may even be outside the file.
Result<EndRecord> FindEndRecord(const Source& source, const Request& request,
                                bool salvage = false);

/// Returns the start of the archive whose end record and comment end at byte
/// `end`; `end` itself if there is no such archive.
Result<uint64_t> ArchiveBefore(const Source& source, uint64_t end,
                               const Request& request);

/// Whether `source`, for example a self-extracting archive, has an end record
/// near its end. Also true if the end cannot be read, so that opening the file
/// reports the error.
bool HasEndRecord(const Source& source, const Request& request);

}  // namespace ctxfs::zip
