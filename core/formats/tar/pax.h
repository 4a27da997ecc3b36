// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/io/identity.h"

namespace ctxfs::tar {

/// The values of pax headers that ctxfs uses (docs/formats/tar.md, section 6).
/// An empty value leaves that of the member's own header.
struct PaxValues {
  std::optional<std::string> path;
  std::optional<std::string> linkpath;
  std::optional<std::string> size;
  std::optional<std::string> mtime;
  // Of sparse files: records GNU.sparse.*. The map has offsets and sizes, each
  // followed by a comma.
  std::optional<std::string> sparse_name;
  std::optional<std::string> sparse_version;  // "MAJOR.MINOR."
  std::optional<std::string> sparse_size;
  std::optional<std::string> sparse_map;
  bool sparse = false;  // there was a record GNU.sparse.*

  /// Bytes of all values.
  uint64_t bytes() const;
};

/// Parses the records of one header into `values`, where they replace earlier
/// ones. Fails with kCorrupt for a record that breaks section 6, with an offset
/// relative to `records`.
Status ParsePax(std::string_view records, PaxValues& values);

/// Returns `own` if it is set, else `global`; null if neither is, or if the
/// value is empty.
const std::string* PaxChoice(const std::optional<std::string>& own,
                             const std::optional<std::string>& global);

/// Parses a time in a pax record: seconds since 1970, decimal, perhaps negative
/// or with a fraction, of which nine digits count. Nothing for other text.
std::optional<FileTime> PaxTime(std::string_view text);

/// Parses a size in a pax record: decimal, below 2^63.
Result<uint64_t> PaxSize(std::string_view text);

}  // namespace ctxfs::tar
