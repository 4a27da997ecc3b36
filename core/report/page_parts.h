// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ctxfs {

/// A text in pieces.
using PagePart = std::span<const std::string_view>;

// The files that the page of a report is made of, as the build embeds them
// (core/report/CMakeLists.txt).

/// The document, with marks such as {{data}} for the other parts and the data
/// (page.cc).
extern const PagePart kPageHtml;
extern const PagePart kPageStyle;
/// Chart.js, minified.
extern const PagePart kChartScript;
/// Our scripts, one after the other.
extern const PagePart kPageScript;

}  // namespace ctxfs
