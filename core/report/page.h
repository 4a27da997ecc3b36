// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/container_report.h"

namespace ctxfs {

/// The beginning of every page; `ctxfs report --replace` only replaces files
/// that begin with it.
constexpr std::string_view kPageMark =
    "<!doctype html>\n<!-- made by ctxfs -->\n";

/// The document before and after its data. Only the title and the data come
/// from containers. The Content-Security-Policy allows the embedded scripts, by
/// SHA-256, and pictures in data: URLs, but no requests.
struct PageFrame {
  std::shared_ptr<const std::string> head;
  std::shared_ptr<const std::string> tail;
};
const PageFrame& TheFrame();
/// The head of a page with the title `title`, which it escapes.
std::string PageHead(std::string_view title);

/// The data of a page as ScriptJson: {"depth", "title", "containers",
/// "left_out": number of containers}. `containers` are results of
/// ContainerReport.
std::string PageData(ReportDepth depth, const std::string& title,
                     const std::vector<std::string>& containers,
                     uint64_t left_out);

/// The data of a page that compares two containers: {"depth": "comparison",
/// "title", "containers": [], "comparison"}.
std::string ComparisonData(const std::string& title,
                           const std::string& comparison);

}  // namespace ctxfs
