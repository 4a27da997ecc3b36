// SPDX-License-Identifier: Apache-2.0
#include "core/container/complete.h"

#include <fmt/core.h>

#include <optional>
#include <utility>
#include <vector>

namespace ctxfs {
namespace {

constexpr uint32_t kEntriesPerCheck = 4096;

/// Returns the first of `count` errors, with the number of the others.
Error FirstOf(uint64_t count, Error first) {
  if (count > 1) first.what += fmt::format(" (and {} more)", count - 1);
  return first;
}

/// Fails with the fault of the first entry that has one, and the number of
/// further such entries. An entry that is locked, because no key was given, is
/// present, and is no fault here.
Status CheckEntries(const FileTable& entries, const ReadContext& context) {
  uint64_t count = 0;
  std::optional<Error> first;
  for (uint32_t i = 0; i < entries.count(); ++i) {
    if (i % kEntriesPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    std::optional<Error> fault = entries.Fault(i);
    if (!fault || fault->code == Code::kLocked) continue;
    if (count++ == 0) first = std::move(fault);
  }
  if (first) return FirstOf(count, *std::move(first));
  return {};
}

/// Fails with a fault of the container or of its entries.
Status CheckFaults(const Container& container, const ReadContext& context) {
  std::vector<Error> faults = container.Faults();
  if (!faults.empty()) {
    return FirstOf(faults.size(), std::move(faults.front()));
  }
  return CheckEntries(*container.Entries(), context);
}

Status CheckExports(const Container& container, const ReadContext& context) {
  const Exports exports = container.Export();
  return exports.complete != nullptr ? exports.complete(context) : Status();
}

}  // namespace

Status CheckComplete(const Container& container, const ReadContext& context) {
  CTXFS_TRY(CheckExports(container, context));
  return CheckFaults(container, context);
}

std::string JoinedView(const Exports& exports) {
  if (!exports.bundle_name.empty()) {
    return fmt::format("{}.safetensors", exports.bundle_name);
  }
  return exports.table != nullptr ? "table.csv" : "";
}

Status CheckPresent(const Container& container, const ReadContext& context) {
  const Status arrays = CheckExports(container, context);
  if (!arrays && arrays.error().code != Code::kUnsupported &&
      arrays.error().code != Code::kLocked) {
    return arrays;
  }
  return CheckFaults(container, context);
}

}  // namespace ctxfs
