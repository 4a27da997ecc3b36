// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/report/counted_once.h"

namespace ctxfs {

/// The level of detail of a report.
enum class ReportDepth : uint8_t {
  kIndex,    // only the index; decodes nothing
  kSampled,  // also statistics of a sample of each array, plots, pictures,
             // texts
  kExact,    // like kSampled, with statistics of all elements
};

/// Calls `work` with every number below `count`, in any order and on any
/// threads.
using ForEachNumber = std::function<void(
    uint64_t count, const std::function<void(uint64_t)>& work)>;

struct ReportOptions {
  ReportDepth depth = ReportDepth::kIndex;
  /// Maximum number of entries described; further ones are only counted.
  uint64_t described = UINT64_MAX;
  /// Runs the measurements of arrays and the verification of entries. If null,
  /// they run one after another.
  ForEachNumber for_each = nullptr;
  /// Called on any thread with the bytes of an array or entry: `expect` before
  /// it is read, `done` after. May be null.
  std::function<void(uint64_t bytes)> expect = nullptr;
  std::function<void(uint64_t bytes)> done = nullptr;
};

/// The remaining budget of a report. It keeps a page below 64 MiB for any
/// number of containers. The page says what it leaves out.
struct ReportRoom {
  uint64_t containers = 1000;
  /// Bytes of reports with details. A container beyond that gets an overview of
  /// at most about 8 KiB.
  uint64_t page_bytes = 48 * limits::kMiB;
  uint64_t rows = 100'000;                      // of tables of entries
  uint64_t row_bytes = 16 * limits::kMiB;       // bytes of their text
  uint64_t arrays = 4096;                       // with statistics
  uint64_t read_bytes = 4 * limits::kGiB;       // for statistics, unless exact
  uint64_t verified_bytes = 4 * limits::kGiB;   // of entries, unless exact
  uint64_t lanes = 32;                          // plotted
  uint64_t lane_bytes = 256 * limits::kMiB;     // read for the plots
  uint64_t sheets = 8;                          // contact sheets of pictures
  uint64_t picture_bytes = 256 * limits::kMiB;  // read for the sheets
  uint64_t sample_bytes = 8 * limits::kMiB;     // pictures of samples
  uint64_t collections = 8;                     // of vectors
  uint64_t vector_bytes = 256 * limits::kMiB;   // of each, unless exact
  uint64_t columns = 256;                       // of tables
  uint64_t documents = 64;
  CountedOnce counted;  // the containers of the page

  /// Subtracts `amount` from `room`. Returns false, and subtracts nothing, if
  /// `room` is less than `amount`.
  static bool Take(uint64_t& room, uint64_t amount = 1) {
    if (amount > room) return false;
    room -= amount;
    return true;
  }
};

struct FoundFaults;

/// Returns the part of a page (page.h) about a container called `name`, as
/// ScriptJson; docs/views.md, section 10, lists its contents. Reads verified
/// values; read failures become errors on the page. Subtracts its costs from
/// `room`; if its text exceeds `page_bytes`, returns only {"brief": true} and
/// the fields of the overview. kIndex returns the same text at each call,
/// without the parts of info.json that may change. Fails with kIo,
/// kInterrupted, and with kLimit if the work limit of the request is exceeded.
/// `faults` is the result of FindFaults or null. `incomplete` is null, or
/// receives what the page says about a lacking view (IncompleteText).
Result<std::string> ContainerReport(
    const std::shared_ptr<const Container>& container, const std::string& name,
    const ReportOptions& options, ReportRoom& room, const ReadContext& context,
    const FoundFaults* faults = nullptr,
    std::optional<std::string>* incomplete = nullptr);

/// The report of a container that cannot be opened.
std::string FailedReport(const std::string& name, const Error& error);

}  // namespace ctxfs
