// SPDX-License-Identifier: Apache-2.0
//
// Pages of the hub's tree API, parsed in the same process as those of S3
// (s3_listing.cc).
#include <algorithm>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/remote/listing.h"
#include "core/remote/percent.h"
#include "core/remote/trimmed.h"

namespace ctxfs::remote {
namespace {

constexpr size_t kMostCursor = 4096;

Error WrongTree(const std::string& how) {
  return {Code::kCorrupt,
          "the server sends a wrong listing of the hub: " + how};
}

Result<StoreName> NameFrom(const Json& one) {
  const std::string type = TextAt(one, "type");
  StoreName name;
  name.name = TextAt(one, "path");
  name.directory = type == "directory";
  if (name.name.empty()) return WrongTree("an entry has no path");
  if (name.directory) return name;
  if (type != "file") {
    return WrongTree("an entry is a '" + Printable(type.substr(0, 20)) + "'");
  }
  const std::optional<uint64_t> size = CountAt(one, "size");
  if (!size || *size > INT64_MAX) return WrongTree("a file has no size");
  name.size = *size;
  // What git has of a large file is a pointer to it, which names its digest.
  const Json* const large = MemberAt(one, "lfs");
  name.version = TextAt(large == nullptr ? one : *large, "oid");
  if (name.version.size() > 256) return WrongTree("a digest is too long");
  return name;
}

}  // namespace

// The cursor in `<URL?...&cursor=TOKEN>; rel="next"`, one of several links
// that commas part. The rest of the URL is ours: a link must not lead the
// token of the hub to another host.
std::string NextHubPage(std::string_view links) {
  while (!links.empty()) {
    const size_t from = links.find('<');
    const size_t to = links.find('>', std::min(from, links.size()));
    if (to == links.npos) return {};
    const std::string_view url = links.substr(from + 1, to - from - 1);
    links.remove_prefix(to + 1);
    const size_t next = std::min(links.find('<'), links.size());
    const bool wanted =
        links.substr(0, next).find("rel=\"next\"") != links.npos;
    links.remove_prefix(next);
    if (!wanted) continue;
    std::string_view query = url.substr(std::min(url.find('?'), url.size()));
    while (!query.empty()) {
      query.remove_prefix(1);
      const size_t end = std::min(query.find('&'), query.size());
      constexpr std::string_view kCursor = "cursor=";
      if (query.starts_with(kCursor)) {
        return Decoded(query.substr(kCursor.size(), end - kCursor.size()));
      }
      query.remove_prefix(end);
    }
  }
  return {};
}

Result<ListingPage> ParseHubPage(const PageText& text) {
  const std::string_view body = text.body;
  const ParsedJson parsed = CTXFS_TRY(ParseJson(body));
  if (!parsed.value.is_array()) return WrongTree("it is not an array");
  if (!Trimmed(body.substr(parsed.length)).empty()) {
    return WrongTree("there is more after its end");
  }
  ListingPage page;
  for (const Json& one : parsed.value) {
    page.keys.push_back(CTXFS_TRY(NameFrom(one)));
  }
  page.next = NextHubPage(text.link);
  if (page.next.size() > kMostCursor)
    return WrongTree("its cursor is too long");
  return page;
}

}  // namespace ctxfs::remote
