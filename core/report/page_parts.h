// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ctxfs {

/// A text in pieces.
using PagePart = std::span<const std::string_view>;

// The files of the report page, embedded by the build
// (core/report/CMakeLists.txt).

/// The document, with marks such as {{data}} for the other parts (page.cc).
extern const PagePart kPageHtml;
extern const PagePart kPageStyle;
/// Chart.js, minified.
extern const PagePart kChartScript;
/// The scripts of this project, concatenated.
extern const PagePart kPageScript;

}  // namespace ctxfs
