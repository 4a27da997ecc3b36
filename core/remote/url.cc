// SPDX-License-Identifier: Apache-2.0
#include "core/remote/url.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/io/url.h"
#include "core/remote/percent.h"

namespace ctxfs::remote {
namespace {

constexpr size_t kMostKeyBytes = 1024;  // as S3

bool IsS3(std::string_view url) { return url.starts_with("s3://"); }
bool IsHub(std::string_view url) { return url.starts_with("hf://"); }

Error Refused(std::string why) {
  return {Code::kNotFound, "is no URL of an object: " + std::move(why)};
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
}

/// Whether a component of `path` is "." or "..", which servers and clients
/// resolve differently.
bool HasDots(std::string_view path) {
  while (true) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string component = Decoded(path.substr(0, slash));
    if (component == "." || component == "..") return true;
    if (slash == path.size()) return false;
    path.remove_prefix(slash + 1);
  }
}

/// A host and an optional port: NAME, NAME:PORT, [ADDRESS] or [ADDRESS]:PORT.
/// Returns the host, empty if it is none.
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

bool IsBucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 &&
         IsAlphanumeric(name.front()) && std::ranges::all_of(name, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_';
         });
}

/// What an S3 URL without its scheme names.
struct S3Name {
  std::string bucket;
  std::string_view key;
};

Result<S3Name> ParseS3(std::string_view rest) {
  const size_t slash = std::min(rest.find('/'), rest.size());
  S3Name name{std::string(rest.substr(0, slash)),
              rest.substr(std::min(slash + 1, rest.size()))};
  if (!IsBucket(name.bucket)) return Refused("it has no valid bucket");
  if (name.key.size() > kMostKeyBytes) return Refused("its key is too long");
  if (HasDots(name.key)) return Refused("a component of its key is . or ..");
  return name;
}

/// The URL of a bucket; ends in a slash if the host names the bucket.
std::string BucketUrl(const std::string& bucket, const Endpoints& endpoints) {
  const bool aws = endpoints.s3.empty();
  std::string base =
      aws ? "https://s3." + endpoints.region + ".amazonaws.com" : endpoints.s3;
  while (base.ends_with('/')) base.pop_back();
  // A certificate of *.s3.REGION.amazonaws.com does not cover dots.
  const bool usual = aws && bucket.find('.') == bucket.npos;
  const bool by_host = endpoints.addressing == Addressing::kVirtual ||
                       (endpoints.addressing == Addressing::kUsual && usual);
  const size_t scheme = base.find("://");
  if (!by_host || scheme == base.npos) return base + "/" + bucket;
  return base.insert(scheme + 3, bucket + ".") + "/";
}

/// Takes the version off the end of an S3 URL.
std::string_view TakeVersion(std::string_view& rest) {
  const size_t mark = rest.rfind(kVersionMark);
  if (mark == rest.npos) return {};
  const std::string_view version = rest.substr(mark + kVersionMark.size());
  rest = rest.substr(0, mark);
  return version;
}

Result<Location> LocateS3(std::string_view rest, const Endpoints& endpoints) {
  const bool versioned = rest.find(kVersionMark) != rest.npos;
  const std::string_view version = TakeVersion(rest);
  const S3Name name = CTXFS_TRY(ParseS3(rest));
  if (name.key.empty() || name.key.ends_with('/')) {
    return Refused("it has no key");
  }
  if (versioned && version.empty()) return Refused("its version is empty");
  std::string url = BucketUrl(name.bucket, endpoints);
  if (!url.ends_with('/')) url += '/';
  url += Encoded(name.key, "/");
  if (versioned) url += std::string(kVersionMark) + Encoded(version, "");
  Result<Location> location = LocateWeb(url);
  if (location) location->service = Service::kS3;
  return location;
}

/// The list of all buckets.
Result<Location> LocateBuckets(const Endpoints& endpoints) {
  Endpoints by_path = endpoints;
  by_path.addressing = Addressing::kPath;
  constexpr std::string_view kAny = "any";
  Location location =
      CTXFS_TRY(LocateWeb(BucketUrl(std::string(kAny), by_path)));
  location.url.resize(location.url.size() - kAny.size());
  location.service = Service::kS3;
  return location;
}

Result<Location> LocateS3Page(std::string_view rest, const std::string& token,
                              const Endpoints& endpoints) {
  const S3Name name = CTXFS_TRY(ParseS3(rest));
  // In the order of the alphabet, which the signature covers.
  std::string query =
      "delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=" +
      Encoded(name.key, "");
  if (!token.empty()) {
    query = "continuation-token=" + Encoded(token, "") + "&" + query;
  }
  const std::string url = BucketUrl(name.bucket, endpoints);
  const bool by_host = url.ends_with('/');
  // With a component, since a host alone is no URL of an object.
  Location location = CTXFS_TRY(LocateWeb(url + (by_host ? "x" : "/x")));
  location.url.resize(location.url.size() - (by_host ? 1 : 2));
  location.url += "?" + query;
  location.service = Service::kS3;
  return location;
}

/// What a URL of the hub without its scheme names.
struct HubName {
  std::string_view kind;  // "datasets/", or empty for models
  std::string_view repository;
  std::string_view revision = "main";
  std::string_view path;  // in the repository; percent-encoded
};

Result<HubName> ParseHub(std::string_view rest) {
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

Result<Location> LocateHub(std::string_view rest, const Endpoints& endpoints) {
  const HubName hub = CTXFS_TRY(ParseHub(rest));
  if (hub.path.empty()) {
    return Refused("expected hf://ORG/MODEL[@REVISION]/PATH");
  }
  return LocateInHub(endpoints, std::string(hub.kind) +
                                    Encoded(hub.repository, "/") + "/resolve/" +
                                    Encoded(hub.revision, "%") + "/" +
                                    Encoded(hub.path, "/%"));
}

Result<Location> LocateHubPage(std::string_view rest, const std::string& token,
                               const Endpoints& endpoints) {
  const HubName hub = CTXFS_TRY(ParseHub(rest));
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

Status CheckText(std::string_view url) {
  if (url.size() > kMostUrlBytes) return Refused("it is too long");
  if (std::ranges::any_of(url, IsControl)) {
    return Refused("it has control characters");
  }
  return {};
}

Result<Location> Bounded(Result<Location> location) {
  if (location && location->url.size() > kMostUrlBytes) {
    return Refused("it is too long");
  }
  return location;
}

}  // namespace

Result<Location> Locate(std::string_view url, const Endpoints& endpoints) {
  CTXFS_TRY(CheckText(url));
  Result<Location> location = Refused("its scheme is not known");
  if (url.starts_with("http://") || url.starts_with("https://")) {
    location = LocateWeb(url);
  } else if (IsS3(url)) {
    location = LocateS3(url.substr(5), endpoints);
  } else if (IsHub(url)) {
    location = LocateHub(url.substr(5), endpoints);
  }
  return Bounded(std::move(location));
}

Result<Location> LocatePage(std::string_view directory,
                            const std::string& token,
                            const Endpoints& endpoints) {
  CTXFS_TRY(CheckText(directory));
  if (directory == kBuckets) return Bounded(LocateBuckets(endpoints));
  if (IsS3(directory)) {
    return Bounded(LocateS3Page(directory.substr(5), token, endpoints));
  }
  if (IsHub(directory)) {
    return Bounded(LocateHubPage(directory.substr(5), token, endpoints));
  }
  return Refused("web servers have no listings");
}

bool IsDirectoryUrl(std::string_view url) {
  if (!IsS3(url) && !IsHub(url)) return false;
  if (url.ends_with('/')) return true;
  const std::string_view rest = url.substr(5);
  if (IsS3(url)) return rest.find('/') == rest.npos;
  const Result<HubName> hub = ParseHub(rest);
  return hub && hub->path.empty();
}

std::string UrlIn(const std::string& directory, std::string_view name,
                  bool is_directory) {
  return directory + (IsS3(directory) ? std::string(name) : Encoded(name, "")) +
         (is_directory ? "/" : "");
}

std::string PathOfDirectory(std::string_view directory) {
  if (directory == kBuckets) return {};
  if (IsS3(directory)) {
    const size_t slash = directory.find('/', 5);
    return std::string(directory.substr(slash + 1));
  }
  const Result<HubName> hub = ParseHub(directory.substr(5));
  return hub ? Decoded(hub->path) : std::string();
}

namespace {

/// Whether a name is a part of a URL as it stands, and no special one.
bool IsPlain(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::ranges::all_of(name, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

Status CheckName(const std::string& directory, std::string_view name,
                 bool is_directory) {
  // Most names of most listings; a million of them are checked.
  if (directory.size() + name.size() < kMostKeyBytes && IsPlain(name)) {
    return {};
  }
  const std::string url = UrlIn(directory, name, is_directory);
  CTXFS_TRY(Locate(is_directory ? url + "x" : url, {}));
  if (IsS3(directory) && name.find(kVersionMark) != name.npos) {
    return Refused("its key ends as a version");
  }
  return {};
}

Result<std::string> UrlBeside(const std::string& url, std::string_view path) {
  if (path.empty() || path.front() == '/' || HasDots(path)) {
    return Error{Code::kCorrupt, "leads out of the directory"};
  }
  // A version, or a signature in the query, is of one object.
  const std::string whole = WithoutVersion(url).substr(
      0, IsS3(url) ? std::string::npos : url.find_first_of("?#"));
  const std::string directory = whole.substr(0, whole.rfind('/') + 1);
  return directory + (IsS3(url) ? std::string(path) : Encoded(path, "/"));
}

std::string NameOf(std::string_view url) {
  const bool literal = IsS3(url);
  if (literal) (void)TakeVersion(url);
  if (!literal) url = url.substr(0, url.find_first_of("?#"));
  url = url.substr(url.rfind('/') + 1);
  return literal ? std::string(url) : Decoded(url);
}

}  // namespace ctxfs::remote
