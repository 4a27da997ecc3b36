// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json/json.h"

namespace ctxfs {

/// The description of one entry without its bytes. Made on demand: the
/// container itself keeps only its index.
struct EntryInfo {
  std::optional<std::string> name;  // as stored, any bytes; nullopt: unreadable
  std::string kind;                 // "entry", "tensor", ...
  uint64_t size = 0;                // bytes of its file, decoded
  uint64_t stored_size = 0;
  /// Start of the stored bytes in the container; kNoOffset: several places.
  uint64_t offset = 0;
  std::string codec = "none";
  std::string checksum;      // "crc32c:9a71bb4c"; empty for none
  std::string verified;      // "yes", "no", "failed" or "none"
  std::string content_type;  // as stored; empty for none
  std::string dtype;         // empty unless the entry is an array
  std::optional<std::vector<uint64_t>> shape;
  std::string note;  // why a value is a guess or the entry is unreadable
  /// Whether the bytes are computed, so that codec and offset do not apply.
  bool computed = false;
  bool incomplete = false;      // a read for this failed or was interrupted
  Json extra = Json::object();  // other metadata of the entry
  /// Adds results of earlier reads, or facts that take too long to collect for
  /// every entry. These additions are shown for single files, as in extended
  /// attributes, but not in index.json. Null: there are no additions.
  std::function<void(EntryInfo&, const Request&)> add_findings = nullptr;
};

}  // namespace ctxfs
