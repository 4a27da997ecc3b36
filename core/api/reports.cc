// SPDX-License-Identifier: Apache-2.0
//
// Pages about containers, as `ctxfs report` makes them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "core/api/handles.h"
#include "core/report/container_report.h"
#include "core/report/found_faults.h"
#include "core/report/page.h"

namespace ctxfs::api {
namespace {

/// Returns the reading limits of a page: `bytes` for each kind of value, but at
/// most the default. 0 selects the defaults.
ReportRoom RoomOf(uint64_t bytes) {
  ReportRoom room;
  if (bytes == 0) return room;
  for (uint64_t* const part : {&room.read_bytes, &room.verified_bytes,
                               &room.lane_bytes, &room.picture_bytes}) {
    *part = std::min(*part, bytes);
  }
  return room;
}

Result<std::string> ReportOf(const std::shared_ptr<const Container>& container,
                             const char* name, ReportDepth depth,
                             uint64_t bytes, const ReadContext& context) {
  ReportRoom room = RoomOf(bytes);
  const ReportOptions options{.depth = depth};
  if (depth == ReportDepth::kIndex) {
    return ContainerReport(container, name, options, room, context);
  }
  // Unless the report is exact, its work has the bound of a request to a mount.
  const bool exact = depth == ReportDepth::kExact;
  const WorkLimit limit{.factor = exact ? 0 : limits::kWorkFactor};
  const uint64_t stored = container->StoredSize();
  Work verifying = limit.On(stored);
  const FoundFaults faults =
      FindFaults(*container, options, room, context.With(verifying));
  Work showing = limit.On(stored);
  return ContainerReport(container, name, options, room, context.With(showing),
                         &faults);
}

Status MakePage(ctxfs_tree& tree, const char* path, const char* name,
                ReportDepth depth, uint64_t bytes, ServerWait* waits,
                char** page) {
  const auto container = CTXFS_TRY(ctxfs::api::ContainerAt(tree, path, waits));
  const std::string report = CTXFS_TRY(
      ReportOf(container, name, depth, bytes, tree.tree->context(waits)));
  const std::string whole =
      PageHead(name) + PageData(depth, name, {report}, 0) + *TheFrame().tail;
  auto* const text = static_cast<char*>(std::malloc(whole.size() + 1));
  if (text == nullptr) throw std::bad_alloc();
  std::memcpy(text, whole.c_str(), whole.size() + 1);
  *page = text;
  return {};
}

}  // namespace
}  // namespace ctxfs::api

extern "C" int ctxfs_report(ctxfs_tree* tree, const char* path,
                            const char* name, enum ctxfs_report_depth depth,
                            uint64_t read_bytes, char** page,
                            ctxfs_error** error) {
  using ctxfs::ReportDepth;
  const ReportDepth depths[] = {ReportDepth::kIndex, ReportDepth::kSampled,
                                ReportDepth::kExact};
  if (depth < CTXFS_REPORT_INDEX || depth > CTXFS_REPORT_EXACT) {
    return ctxfs::api::FailUsage(error, "no such depth of a report");
  }
  return ctxfs::api::CallTree(error, path, [&](ctxfs::ServerWait* waits) {
    return ctxfs::api::MakePage(*tree, path, name == nullptr ? path : name,
                                depths[depth], read_bytes, waits, page);
  });
}
