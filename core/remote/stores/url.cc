// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/url.h"

#include <algorithm>
#include <iterator>

#include "core/remote/stores/percent.h"
#include "core/remote/stores/scheme.h"

namespace ctxfs::remote {

extern const Scheme kHttp;
extern const Scheme kHttps;
extern const Scheme kHub;
extern const Scheme kS3;

namespace {

// core/io/urls/url.cc lists their prefixes, too, because it knows no stores.
constexpr const Scheme* kSchemes[] = {&kHttp, &kHttps, &kHub, &kS3};

// No store refuses a URL for a length below this.
constexpr size_t kShortUrlBytes = 1024;

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
}

Status CheckText(std::string_view url) {
  if (url.size() > kMaxUrlBytes) return Refused("it is too long");
  if (std::ranges::any_of(url, IsControl)) {
    return Refused("it has control characters");
  }
  return {};
}

Result<Location> Bounded(Result<Location> location) {
  if (location && location->url.size() > kMaxUrlBytes) {
    return Refused("it is too long");
  }
  return location;
}

}  // namespace

const Scheme* SchemeOf(std::string_view url) {
  const auto* const found = std::ranges::find_if(
      kSchemes,
      [url](const Scheme* one) { return url.starts_with(one->prefix); });
  return found == std::end(kSchemes) ? nullptr : *found;
}

const Listings* ListingsOf(std::string_view url) {
  const Scheme* const scheme = SchemeOf(url);
  return scheme == nullptr ? nullptr : scheme->listings;
}

Result<Location> Locate(std::string_view url, const Endpoints& endpoints) {
  CTXFS_TRY(CheckText(url));
  const Scheme* const scheme = SchemeOf(url);
  if (scheme == nullptr) return Refused("its scheme is not known");
  return Bounded(scheme->locate(url, endpoints));
}

Result<Location> LocatePage(std::string_view directory,
                            const std::string& token,
                            const Endpoints& endpoints) {
  CTXFS_TRY(CheckText(directory));
  const Listings* const listings = ListingsOf(directory);
  if (listings == nullptr) return Refused("web servers have no listings");
  return Bounded(listings->locate(directory, token, endpoints));
}

bool IsDirectoryUrl(std::string_view url) {
  const Listings* const listings = ListingsOf(url);
  return listings != nullptr &&
         (url.ends_with('/') || listings->names_directory(url));
}

std::string UrlIn(const std::string& directory, std::string_view name,
                  bool is_directory) {
  return directory +
         (SchemeOf(directory)->literal ? std::string(name)
                                       : Encoded(name, "")) +
         (is_directory ? "/" : "");
}

std::string PathOfDirectory(std::string_view directory) {
  const Listings* const listings = ListingsOf(directory);
  return listings == nullptr ? std::string() : listings->path_of(directory);
}

namespace {

/// Whether a name can stand in a URL unencoded, and is not special.
bool IsPlain(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::ranges::all_of(name, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

Status CheckName(const std::string& directory, std::string_view name,
                 bool is_directory) {
  // The fast path for most names: listings have up to a million.
  if (directory.size() + name.size() < kShortUrlBytes && IsPlain(name)) {
    return {};
  }
  const std::string url = UrlIn(directory, name, is_directory);
  CTXFS_TRY(Locate(is_directory ? url + "x" : url, {}));
  const Scheme& scheme = *SchemeOf(directory);
  if (scheme.literal && scheme.without_suffix(name) != name) {
    return Refused("its key ends as a version");
  }
  return {};
}

Result<std::string> UrlBeside(const std::string& url, std::string_view path) {
  if (path.empty() || path.front() == '/' || HasDots(path)) {
    return Error{Code::kCorrupt, "leads out of the directory"};
  }
  // Drops a version, and a query with a signature, because these belong to one
  // object.
  const Scheme* const scheme = SchemeOf(url);
  if (scheme == nullptr) {
    return Error{Code::kCorrupt, "is beside no URL"};
  }
  const std::string_view whole = scheme->without_suffix(url);
  const std::string directory(whole.substr(0, whole.rfind('/') + 1));
  return directory + (scheme->literal ? std::string(path) : Encoded(path, "/"));
}

std::string NameOf(std::string_view url) {
  const Scheme* const scheme = SchemeOf(url);
  if (scheme != nullptr) url = scheme->without_suffix(url);
  url = url.substr(url.rfind('/') + 1);
  return scheme != nullptr && scheme->literal ? std::string(url) : Decoded(url);
}

}  // namespace ctxfs::remote
