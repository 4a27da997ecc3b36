// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/report/report_room.h"

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

/// Returns the part of a page (page.h) about a container called `name`, as
/// ScriptJson; docs/views.md, section 10, lists its contents. Values are
/// verified as in all reads; those that cannot be read are errors on the page.
/// Subtracts what it uses from `room`. kIndex returns the same text at each
/// call, so it leaves out the parts of info.json that may change. Fails with
/// kIo, kInterrupted, and with kLimit if the request may not cause so much
/// work.
Result<std::string> ContainerReport(
    const std::shared_ptr<const Container>& container, const std::string& name,
    const ReportOptions& options, ReportRoom& room, const ReadContext& context);

/// Returns the same for a container that cannot be opened.
std::string FailedReport(const std::string& name, const Error& error);

}  // namespace ctxfs
