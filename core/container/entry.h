// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json/json.h"

namespace ctxfs {

/// Everything known of one entry without decoding it. Made when asked for: the
/// container itself keeps only what its index holds.
struct EntryInfo {
  std::optional<std::string> name;  // as stored, any bytes; none: unreadable
  std::string kind;                 // "entry", "tensor", ...
  uint64_t size = 0;                // bytes of its file, decoded
  uint64_t stored_size = 0;
  /// Where the stored bytes start in the container; kNoOffset: in many places.
  uint64_t offset = 0;
  std::string codec = "none";
  std::string checksum;      // "crc32c:9a71bb4c", empty for none
  std::string verified;      // "yes", "no", "failed" or "none"
  std::string content_type;  // what the container calls it, empty for nothing
  std::string dtype;         // empty unless the entry is an array
  std::optional<std::vector<uint64_t>> shape;
  std::string note;  // why something is a guess or cannot be read
  /// Whether the bytes are computed from stored ones, so that how and where it
  /// is stored does not apply.
  bool computed = false;
  bool incomplete = false;      // the store failed while this was made
  Json extra = Json::object();  // whatever else the container says of it
  /// Adds findings of earlier reads, or facts that take too long to collect for
  /// every entry. Only extended attributes show them. Null: there are none.
  std::function<void(EntryInfo&, const Request&)> add_findings = nullptr;
};

}  // namespace ctxfs
