// SPDX-License-Identifier: Apache-2.0
//
// overview.html: a report of the index alone (docs/views.md, section 10).
#include <memory>
#include <string>

#include "core/container/documents.h"
#include "core/report/container_report.h"
#include "core/report/page.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

/// Maximum number of entries described at a look-up of the file: about a second
/// of work.
constexpr uint64_t kDescribed = 1'000'000;

bool MayHave(const Exports& exports) {
  return exports.arrays != nullptr || exports.table != nullptr;
}

/// The name of the container's file. A container in another one has none.
std::string TitleOf(const Container& container) {
  const std::string name = container.source()->name();
  return name.empty() ? "Overview" : name;
}

Result<std::string> DataOf(const std::shared_ptr<const Container>& container,
                           const ReadContext& context) {
  ReportRoom room;
  const ReportOptions options{.depth = ReportDepth::kIndex,
                              .described = kDescribed};
  const std::string title = TitleOf(*container);
  std::string report =
      CTXFS_TRY(ContainerReport(container, title, options, room, context));
  return PageData(options.depth, title, {std::move(report)}, 0);
}

Status Make(const Viewed& viewed, const ReadContext& /*context*/,
            ViewTables& into) {
  const auto open = [container = viewed.container, key = Key{NewOwner(), 0}](
                        const ReadContext& context) -> Result<Content> {
    Result<Content> data = CachedText(
        key, container->source(),
        [container](const ReadContext& shared) {
          return DataOf(container, shared);
        },
        context);
    if (!data) return data;
    Content page = LiteralContent(PageHead(TitleOf(*container)));
    page.Append(*data);
    // All pages share the scripts in memory.
    const auto& tail = TheFrame().tail;
    page.Append(Literal{tail}, tail->size());
    return page;
  };
  into.push_back(OpenedFile(Role::kPrimary, "overview.html", open));
  return {};
}

}  // namespace

extern const View kOverviewView;
const View kOverviewView{"overview", &MayHave, &Make};

}  // namespace ctxfs
