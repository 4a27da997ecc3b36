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
  kIndex,    // what the index says; decodes nothing
  kSampled,  // statistics of a sample of each array, plots, pictures, texts
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
  /// Who measures the arrays; one after the other if it is null.
  ForEachNumber for_each = nullptr;
  /// Are called with bytes of arrays that are going to be read, and that have
  /// been; on any thread. Null for nobody.
  std::function<void(uint64_t bytes)> expect = nullptr;
  std::function<void(uint64_t bytes)> done = nullptr;
};

/// Returns what a page (page.h) says of a container called `name`, as
/// ScriptJson; docs/views.md, section 10, says what is on it. Values are
/// verified as all reads are; those that cannot be read are errors on the page.
/// Takes what it uses off `room`. kIndex gives the same text at each call, and
/// so leaves out what info.json may say differently the next time. Fails with
/// kIo, kInterrupted, and with kLimit if the request may not cause so much
/// work.
Result<std::string> ContainerReport(
    const std::shared_ptr<const Container>& container, const std::string& name,
    const ReportOptions& options, ReportRoom& room, const ReadContext& context);

/// The same of a container that cannot be opened.
std::string FailedReport(const std::string& name, const Error& error);

}  // namespace ctxfs
