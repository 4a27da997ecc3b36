// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ctxfs::tar {

/// The values of pax headers that ctxfs uses (docs/tar.md, section 6). An empty
/// value leaves that of the member's own header.
struct PaxValues {
  std::optional<std::string> path;
  std::optional<std::string> linkpath;
  std::optional<std::string> size;
  std::optional<std::string> sparse_name;
  bool sparse = false;  // there is a record GNU.sparse.*

  /// Bytes of all values.
  uint64_t bytes() const;
};

/// Reads the records of one header; later ones win over `values`. Fails with
/// kCorrupt for a record that breaks section 6, its offset being that in
/// `records`.
Status ParsePax(std::string_view records, PaxValues& values);

/// `own` where it says something, or else what `global` says; null where
/// neither does.
const std::string* PaxChoice(const std::optional<std::string>& own,
                             const std::optional<std::string>& global);

/// A size as pax has it: decimal, below 2^63.
Result<uint64_t> PaxSize(std::string_view text);

}  // namespace ctxfs::tar
