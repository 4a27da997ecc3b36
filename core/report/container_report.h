// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// How much of a container a report shows.
enum class ReportDepth : uint8_t {
  kIndex,    // the index; decodes nothing
  kSampled,  // also statistics of a sample of each array, plots, pictures,
             // texts
  kExact,    // the same, with statistics of all elements
};

/// Calls a function with every number below a count, in any order and on any
/// number of threads.
using ForEachNumber = std::function<void(
    uint64_t count, const std::function<void(uint64_t)>& work)>;

struct ReportOptions {
  ReportDepth depth = ReportDepth::kIndex;
  /// Entries that are described; later ones are only counted.
  uint64_t described = UINT64_MAX;
  /// Runs the measurements of arrays; null: one after the other.
  ForEachNumber for_each = nullptr;
  /// Called with the bytes of an array before and after it is read, on any
  /// thread. May be null.
  std::function<void(uint64_t bytes)> expect = nullptr;
  std::function<void(uint64_t bytes)> done = nullptr;
};

/// The budget of a report: what it may still contain and read. It keeps a page
/// of any number of containers below 64 MiB. The page says what it leaves out.
struct ReportRoom {
  uint64_t containers = 1000;
  /// Of reports with details. Those of further containers have what the
  /// overview shows, at most about 8 KiB.
  uint64_t page_bytes = 48 * limits::kMiB;
  uint64_t rows = 100'000;                      // of tables of entries
  uint64_t row_bytes = 16 * limits::kMiB;       // their text
  uint64_t arrays = 4096;                       // with statistics
  uint64_t read_bytes = 4 * limits::kGiB;       // for them, unless exact
  uint64_t verified_bytes = 4 * limits::kGiB;   // of entries, unless exact
  uint64_t lanes = 32;                          // that are plotted
  uint64_t lane_bytes = 256 * limits::kMiB;     // read for that
  uint64_t sheets = 8;                          // of pictures
  uint64_t picture_bytes = 256 * limits::kMiB;  // read for them
  uint64_t sample_bytes = 8 * limits::kMiB;     // pictures of samples
  uint64_t collections = 8;                     // of vectors
  uint64_t vector_bytes = 256 * limits::kMiB;   // of each, unless exact
  uint64_t columns = 256;                       // of tables
  uint64_t documents = 64;

  /// Subtracts `amount` from `room`. Returns false if there is less.
  static bool Take(uint64_t& room, uint64_t amount = 1) {
    if (amount > room) return false;
    room -= amount;
    return true;
  }
};

struct FoundFaults;

/// Returns the part of a page (page.h) about a container called `name`, as
/// ScriptJson; docs/views.md, section 10, lists its contents. Values are
/// verified as in all reads; those that cannot be read are errors on the page.
/// Subtracts what it uses from `room`; if its text exceeds `page_bytes`, it is
/// {"brief": true} and what an overview shows. kIndex returns the same text at
/// each call, so it leaves out the parts of info.json that may change. Fails
/// with kIo, kInterrupted, and with kLimit if the request may not cause so much
/// work. `faults`, if not null, is the result of FindFaults.
Result<std::string> ContainerReport(
    const std::shared_ptr<const Container>& container, const std::string& name,
    const ReportOptions& options, ReportRoom& room, const ReadContext& context,
    const FoundFaults* faults = nullptr);

/// Returns the same for a container that cannot be opened.
std::string FailedReport(const std::string& name, const Error& error);

}  // namespace ctxfs
