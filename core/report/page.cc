// SPDX-License-Identifier: Apache-2.0
#include "core/report/page.h"

#include <fmt/core.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/text/text.h"
#include "core/codec/crypto/digest.h"
#include "core/report/page_parts.h"
#include "core/report/script_json.h"

namespace ctxfs {
namespace {

/// Returns the 'sha256-...' of a script or style for the policy.
std::string SourceOf(std::string_view text) {
  Sha256 digest;
  digest.Update(AsBytes(text));
  return "'sha256-" + Base64(digest.Raw()) + "'";
}

std::string Joined(PagePart part) {
  std::string text;
  for (const std::string_view piece : part) text += piece;
  return text;
}

/// Replaces the first `mark` in `page` by `text`.
void Put(std::string_view mark, std::string_view text, std::string& page) {
  const size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), text);
}

constexpr const char* kTitle = "ctxfs report";

PageFrame MakeFrame() {
  const std::string style = Joined(kPageStyle);
  const std::string chart = Joined(kChartScript);
  const std::string script = Joined(kPageScript);
  const std::string policy =
      "default-src 'none'; script-src " + SourceOf(chart) + " " +
      SourceOf(script) + "; style-src " + SourceOf(style) +
      "; img-src data:; base-uri 'none'; form-action 'none'";
  std::string page = Joined(kPageHtml);
  constexpr std::string_view kData = "{{data}}";
  const size_t at = page.find(kData);
  std::string tail = page.substr(at + kData.size());
  page.resize(at);
  Put("{{policy}}", policy, page);
  Put("{{style}}", style, page);
  Put("{{page}}", script, tail);
  Put("{{chart}}", chart, tail);
  return {std::make_shared<const std::string>(std::move(page)),
          std::make_shared<const std::string>(std::move(tail))};
}

}  // namespace

const PageFrame& TheFrame() {
  static const PageFrame frame = MakeFrame();
  return frame;
}

std::string PageHead(std::string_view title) {
  const std::string old = fmt::format("<title>{}</title>", kTitle);
  std::string head = *TheFrame().head;
  Put(old, fmt::format("<title>{}</title>", HtmlText(title)), head);
  return head;
}

std::string PageData(ReportDepth depth, const std::string& title,
                     const std::vector<std::string>& containers,
                     uint64_t left_out) {
  constexpr const char* kNames[] = {"index", "sampled", "exact"};
  std::string data = fmt::format(
      "{{\"depth\":\"{}\",\"title\":{},\"left_out\":{},"
      "\"containers\":[",
      kNames[static_cast<size_t>(depth)], ScriptJson(title), left_out);
  for (size_t i = 0; i < containers.size(); ++i) {
    data += (i == 0 ? "" : ",\n") + containers[i];
  }
  return data + "]}";
}

std::string ComparisonData(const std::string& title,
                           const std::string& comparison) {
  return fmt::format(
      "{{\"depth\":\"comparison\",\"title\":{},"
      "\"containers\":[],\"comparison\":{}}}",
      ScriptJson(title), comparison);
}

}  // namespace ctxfs
