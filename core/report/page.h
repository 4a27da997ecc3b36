// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/container_report.h"

namespace ctxfs {

/// How every page begins: `ctxfs report --replace` replaces what begins so.
constexpr std::string_view kPageMark =
    "<!doctype html>\n<!-- made by ctxfs -->\n";

/// The document before and after its data. Only its title and the data come
/// from containers. Its Content-Security-Policy allows the embedded scripts by
/// their SHA-256 and pictures in data: URLs, and no request.
struct PageFrame {
  std::shared_ptr<const std::string> head;
  std::shared_ptr<const std::string> tail;
};
/// The frame of pages without a title of their own.
const PageFrame& TheFrame();
/// The head of a page called `title`, which is escaped.
std::string PageHead(std::string_view title);

/// The data of a page, ScriptJson: {"depth", "title", "containers":
/// `containers`, the results of ContainerReport, "left_out": number of
/// containers}.
std::string PageData(ReportDepth depth, const std::string& title,
                     const std::vector<std::string>& containers,
                     uint64_t left_out);

/// The data of a page that compares two containers: {"depth": "comparison",
/// "title", "containers": [], "comparison": `comparison`}.
std::string ComparisonData(const std::string& title,
                           const std::string& comparison);

}  // namespace ctxfs
