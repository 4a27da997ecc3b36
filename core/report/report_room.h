// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/limits.h"

namespace ctxfs {

/// The budget of a report: what it may still contain and read. It keeps a page
/// of any number of containers below 64 MiB. The page says what it leaves out.
struct ReportRoom {
  uint64_t containers = 200;
  uint64_t rows = 100'000;                      // of tables of entries
  uint64_t row_bytes = 16 * limits::kMiB;       // their text
  uint64_t arrays = 4096;                       // with statistics
  uint64_t read_bytes = 4 * limits::kGiB;       // for them, unless exact
  uint64_t lanes = 32;                          // that are plotted
  uint64_t lane_bytes = 256 * limits::kMiB;     // read for that
  uint64_t sheets = 8;                          // of pictures
  uint64_t picture_bytes = 256 * limits::kMiB;  // read for them
  uint64_t columns = 256;                       // of tables
  uint64_t documents = 64;

  /// Subtracts `amount` from `room`. Returns false if there is less.
  static bool Take(uint64_t& room, uint64_t amount = 1) {
    if (amount > room) return false;
    room -= amount;
    return true;
  }
};

}  // namespace ctxfs
