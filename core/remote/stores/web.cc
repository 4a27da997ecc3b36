// SPDX-License-Identifier: Apache-2.0
//
// Objects of web servers.
#include <algorithm>
#include <string>
#include <utility>

#include "core/remote/stores/percent.h"
#include "core/remote/stores/scheme.h"

namespace ctxfs::remote {
namespace {

/// Parses NAME, NAME:PORT, [ADDRESS] or [ADDRESS]:PORT. Returns the host, empty
/// if malformed.
std::string HostOf(std::string_view authority) {
  const bool bracketed = authority.starts_with('[');
  const size_t end = bracketed
                         ? authority.find(']') + 1
                         : std::min(authority.find(':'), authority.size());
  if (end == 0) return {};
  const std::string_view host = authority.substr(0, end);
  std::string_view port = authority.substr(end);
  const std::string_view allowed = bracketed ? "[]:." : "-._";
  if (host.size() > 255 || !std::ranges::all_of(host, [&](char c) {
        return IsAlphanumeric(c) || allowed.find(c) != allowed.npos;
      })) {
    return {};
  }
  if (!port.empty()) {
    if (port.front() != ':' || port.size() < 2 || port.size() > 6) return {};
    port.remove_prefix(1);
    if (port.find_first_not_of("0123456789") != port.npos) return {};
  }
  return std::string(host);
}

}  // namespace

Error Refused(std::string why) {
  return {Code::kNotFound, "is no URL of an object: " + std::move(why)};
}

bool HasDots(std::string_view path) {
  while (true) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string component = Decoded(path.substr(0, slash));
    if (component == "." || component == "..") return true;
    if (slash == path.size()) return false;
    path.remove_prefix(slash + 1);
  }
}

Result<Location> LocateWeb(std::string_view url) {
  const size_t start = url.find("://") + 3;
  url = url.substr(0, url.find('#'));
  const size_t slash = url.find('/', start);
  const std::string_view authority =
      url.substr(start, std::min(slash, url.find('?', start)) - start);
  if (authority.find('@') != authority.npos) {
    return Refused("it has a user or password; put them in ~/.netrc");
  }
  Location location;
  location.host = HostOf(authority);
  if (location.host.empty()) return Refused("it has no valid host");
  if (slash == url.npos || slash != start + authority.size()) {
    return Refused("it has no path");
  }
  const std::string_view path = url.substr(slash, url.find('?') - slash);
  if (path == "/") return Refused("it has no path");
  if (HasDots(path)) return Refused("a component of its path is . or ..");
  location.url = std::string(url.substr(0, slash)) +
                 Encoded(url.substr(slash), "%/?:@!$&'()*+,;=[]");
  return location;
}

std::string_view WithoutQueryAndFragment(std::string_view url) {
  return url.substr(0, url.find_first_of("?#"));
}

namespace {

Result<Location> LocateOnWeb(std::string_view url,
                             const Endpoints& /*endpoints*/) {
  return LocateWeb(url);
}

}  // namespace

extern const Scheme kHttp{.prefix = "http://",
                          .locate = &LocateOnWeb,
                          .without_suffix = &WithoutQueryAndFragment};
extern const Scheme kHttps{.prefix = "https://",
                           .locate = &LocateOnWeb,
                           .without_suffix = &WithoutQueryAndFragment};

}  // namespace ctxfs::remote
