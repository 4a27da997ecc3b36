// SPDX-License-Identifier: Apache-2.0
//
// Repositories of the Hugging Face hub. The pages of its tree API are parsed in
// the same process as those of S3 (s3_listing.cc).
#include <algorithm>
#include <string>

#include "core/base/json/json.h"
#include "core/remote/stores/percent.h"
#include "core/remote/stores/scheme.h"
#include "core/remote/stores/secrets.h"
#include "core/remote/stores/trimmed.h"

namespace ctxfs::remote {
namespace {

constexpr std::string_view kHubPrefix = "hf://";
constexpr size_t kMaxCursor = 4096;

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
    return WrongTree("an entry is a '" + Secrets().Shown(type, 20) + "'");
  }
  const std::optional<uint64_t> size = CountAt(one, "size");
  if (!size || *size > INT64_MAX) return WrongTree("a file has no size");
  name.size = *size;
  // For a large file, git stores a pointer, which contains the file's digest.
  const Json* const large = MemberAt(one, "lfs");
  name.version = TextAt(large == nullptr ? one : *large, "oid");
  if (name.version.size() > 256) return WrongTree("a digest is too long");
  return name;
}

/// The cursor in `<URL?...&cursor=TOKEN>; rel="next"`, one of several links
/// separated by commas. Only the cursor is used. The rest of the next page's
/// URL is made here, because a link must not send the hub's token to another
/// host.
std::string CursorIn(std::string_view links) {
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

/// The parts of a URL of the hub.
struct HubName {
  std::string_view kind;  // "datasets/", or empty for models
  std::string_view repository;
  std::string_view revision = "main";
  std::string_view path;  // in the repository; percent-encoded
};

Result<HubName> ParseHub(std::string_view url) {
  std::string_view rest = url.substr(kHubPrefix.size());
  constexpr std::string_view kDatasets = "datasets/";
  const Error refusal = Refused("expected hf://ORG/MODEL[@REVISION]/PATH");
  HubName hub;
  if (rest.starts_with(kDatasets)) hub.kind = kDatasets;
  rest.remove_prefix(hub.kind.size());
  const size_t name = rest.find('/');
  if (name == rest.npos) return refusal;
  const size_t end = std::min(rest.find('/', name + 1), rest.size());
  hub.repository = rest.substr(0, end);
  hub.path = rest.substr(std::min(end + 1, rest.size()));
  if (const size_t at = hub.repository.find('@'); at != rest.npos) {
    hub.revision = hub.repository.substr(at + 1);
    hub.repository = hub.repository.substr(0, at);
  }
  if (name == 0 || hub.repository.size() <= name + 1 || hub.revision.empty()) {
    return refusal;
  }
  return hub;
}

Result<Location> LocateInHub(const Endpoints& endpoints,
                             const std::string& path) {
  std::string base = endpoints.hub;
  while (base.ends_with('/')) base.pop_back();
  Result<Location> location = LocateWeb(base + "/" + path);
  if (location) location->service = Service::kHub;
  return location;
}

Result<Location> LocateHub(std::string_view url, const Endpoints& endpoints) {
  const HubName hub = CTXFS_TRY(ParseHub(url));
  if (hub.path.empty()) {
    return Refused("expected hf://ORG/MODEL[@REVISION]/PATH");
  }
  return LocateInHub(endpoints, std::string(hub.kind) +
                                    Encoded(hub.repository, "/") + "/resolve/" +
                                    Encoded(hub.revision, "%") + "/" +
                                    Encoded(hub.path, "/%"));
}

Result<Location> LocateHubPage(std::string_view directory,
                               const std::string& token,
                               const Endpoints& endpoints) {
  const HubName hub = CTXFS_TRY(ParseHub(directory));
  std::string path = "api/";
  path += hub.kind.empty() ? "models/" : hub.kind;
  path += Encoded(hub.repository, "/") + "/tree/" + Encoded(hub.revision, "%");
  std::string_view below = hub.path;
  while (below.ends_with('/')) below.remove_suffix(1);
  if (!below.empty()) path += "/" + Encoded(below, "/%");
  path += "?recursive=false";
  if (!token.empty()) path += "&cursor=" + Encoded(token, "");
  return LocateInHub(endpoints, path);
}

}  // namespace

Result<ListingPage> ParseHubPage(const PageText& text) {
  const std::string_view body = text.body;
  Result<ParsedJson> read = ParseJson(body);
  if (!read) {
    // Masks secrets, because the library's message quotes the page.
    Error error = std::move(read).error();
    error.what = Secrets().Shown(error.what, 200);
    return error;
  }
  const ParsedJson parsed = *std::move(read);
  if (!parsed.value.is_array()) return WrongTree("it is not an array");
  if (!Trimmed(body.substr(parsed.length)).empty()) {
    return WrongTree("there is more after its end");
  }
  ListingPage page;
  for (const Json& one : parsed.value) {
    page.keys.push_back(CTXFS_TRY(NameFrom(one)));
  }
  page.next = CursorIn(text.link);
  if (page.next.size() > kMaxCursor) return WrongTree("its cursor is too long");
  return page;
}

namespace {

bool NamesRepository(std::string_view url) {
  const Result<HubName> hub = ParseHub(url);
  return hub && hub->path.empty();
}

std::string PathInRepository(std::string_view directory) {
  const Result<HubName> hub = ParseHub(directory);
  return hub ? Decoded(hub->path) : std::string();
}

Result<ListingPage> ParseHubListing(std::string_view /*directory*/,
                                    const PageText& page) {
  return ParseHubPage(page);
}

std::string LikelyNextInHub(const PageText& page) {
  return CursorIn(page.link);
}

constexpr Listings kHubListings{.locate = &LocateHubPage,
                                .names_directory = &NamesRepository,
                                .path_of = &PathInRepository,
                                .parse = &ParseHubListing,
                                .likely_next = &LikelyNextInHub,
                                .have_etags = false};

}  // namespace

extern const Scheme kHub{.prefix = kHubPrefix,
                         .locate = &LocateHub,
                         .without_suffix = &WithoutQueryAndFragment,
                         .listings = &kHubListings};

}  // namespace ctxfs::remote
