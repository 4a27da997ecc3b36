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
/// For an empty value, the field of the member's own header counts.
struct PaxValues {
  std::optional<std::string> path;
  std::optional<std::string> linkpath;
  std::optional<std::string> size;
  std::optional<std::string> mtime;
  // Values of records GNU.sparse.*. In sparse_map, each number ends with a
  // comma.
  std::optional<std::string> sparse_name;
  std::optional<std::string> sparse_version;  // "MAJOR.MINOR."
  std::optional<std::string> sparse_size;
  std::optional<std::string> sparse_map;
  bool sparse = false;  // there was a record GNU.sparse.*

  /// Total bytes of all values.
  uint64_t bytes() const;
};

/// Parses the records of one header into `values`; they replace earlier values.
/// Fails with kCorrupt for a record that violates section 6; the error's offset
/// is relative to `records`.
Status ParsePax(std::string_view records, PaxValues& values);

/// Returns `own` if set, else `global`; null if unset or empty.
const std::string* PaxChoice(const std::optional<std::string>& own,
                             const std::optional<std::string>& global);

/// Parses the time of a pax record: decimal seconds since 1970, possibly
/// negative or with a fraction, of which nine digits count. nullopt for other
/// text.
std::optional<FileTime> PaxTime(std::string_view text);

/// Parses the size of a pax record: decimal, below 2^63.
Result<uint64_t> PaxSize(std::string_view text);

}  // namespace ctxfs::tar
