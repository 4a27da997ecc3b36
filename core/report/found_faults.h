// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/report/container_report.h"

namespace ctxfs {

/// The faults of a container. A fault that another fault has caused is not
/// counted. A cut file (CutOf) is one fault for all entries that it lacks.
struct FoundFaults {
  /// A fault of `entry`, or if that is nullopt, of the container itself.
  struct Fault {
    std::optional<uint32_t> entry;
    Error error;
  };

  static constexpr size_t kListed = 200;

  std::vector<Fault> listed;      // the first ones
  std::vector<uint32_t> entries;  // unreadable entries, ascending
  std::set<std::string> texts;    // of all faults that are also warnings
  uint64_t damaged = 0;           // faults that are damage
  uint64_t unchecked = 0;         // faults that prevented a check
  uint64_t unread = 0;            // entries beyond `room` or the work limit

  uint64_t count() const { return damaged + unchecked; }
};

/// Opens every entry of a container and verifies those with a checksum or
/// codec: all with kExact, otherwise as far as `room` and the work limit of the
/// request allow. kExact also runs the checks that reads do not need
/// (Container::Inspect).
FoundFaults FindFaults(const Container& container, const ReportOptions& options,
                       ReportRoom& room, const ReadContext& context);

}  // namespace ctxfs
