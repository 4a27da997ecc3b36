// SPDX-License-Identifier: Apache-2.0
//
// Objects and buckets of S3; s3_listing.cc has the pages of its listings.
#include <algorithm>
#include <string>

#include "core/io/urls/url.h"
#include "core/remote/stores/percent.h"
#include "core/remote/stores/scheme.h"

namespace ctxfs::remote {
namespace {

constexpr std::string_view kS3Prefix = "s3://";
static_assert(kS3Prefix == kBuckets);
constexpr size_t kMaxKeyBytes = 1024;

bool IsBucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 &&
         IsAlphanumeric(name.front()) && std::ranges::all_of(name, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_';
         });
}

/// The parts of an S3 URL without its scheme.
struct S3Name {
  std::string bucket;
  std::string_view key;
};

Result<S3Name> ParseS3(std::string_view rest) {
  const size_t slash = std::min(rest.find('/'), rest.size());
  S3Name name{std::string(rest.substr(0, slash)),
              rest.substr(std::min(slash + 1, rest.size()))};
  if (!IsBucket(name.bucket)) {
    return Error{Code::kNotFound,
                 "has no valid bucket: expected 3 to 63 letters, digits, '-', "
                 "'.' and '_', the first a letter or digit"};
  }
  if (name.key.size() > kMaxKeyBytes) return Refused("its key is too long");
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

/// Removes the version from the end of an S3 URL.
std::string_view TakeVersion(std::string_view& rest) {
  const size_t mark = rest.rfind(kVersionMark);
  if (mark == rest.npos) return {};
  const std::string_view version = rest.substr(mark + kVersionMark.size());
  rest = rest.substr(0, mark);
  return version;
}

Result<Location> LocateS3(std::string_view url, const Endpoints& endpoints) {
  std::string_view rest = url.substr(kS3Prefix.size());
  const bool versioned = rest.find(kVersionMark) != rest.npos;
  const std::string_view version = TakeVersion(rest);
  const S3Name name = CTXFS_TRY(ParseS3(rest));
  if (name.key.empty() || name.key.ends_with('/')) {
    return Refused("it has no key");
  }
  if (versioned && version.empty()) return Refused("its version is empty");
  std::string object = BucketUrl(name.bucket, endpoints);
  if (!object.ends_with('/')) object += '/';
  object += Encoded(name.key, "/");
  if (versioned) object += std::string(kVersionMark) + Encoded(version, "");
  Result<Location> location = LocateWeb(object);
  if (location) location->service = Service::kS3;
  return location;
}

/// The request for the list of all buckets.
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

Result<Location> LocateS3Page(std::string_view directory,
                              const std::string& token,
                              const Endpoints& endpoints) {
  if (directory == kBuckets) return LocateBuckets(endpoints);
  const S3Name name = CTXFS_TRY(ParseS3(directory.substr(kS3Prefix.size())));
  // In alphabetical order, which the signature requires.
  std::string query =
      "delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=" +
      Encoded(name.key, "");
  if (!token.empty()) {
    query = "continuation-token=" + Encoded(token, "") + "&" + query;
  }
  const std::string url = BucketUrl(name.bucket, endpoints);
  const bool by_host = url.ends_with('/');
  // Adds a component for LocateWeb, which refuses a host alone, and then
  // removes it.
  Location location = CTXFS_TRY(LocateWeb(url + (by_host ? "x" : "/x")));
  location.url.resize(location.url.size() - (by_host ? 1 : 2));
  location.url += "?" + query;
  location.service = Service::kS3;
  return location;
}

bool NamesBucket(std::string_view url) {
  return url.find('/', kS3Prefix.size()) == url.npos;
}

std::string PathInBucket(std::string_view directory) {
  if (directory == kBuckets) return {};
  const size_t slash = directory.find('/', kS3Prefix.size());
  return std::string(directory.substr(slash + 1));
}

Result<ListingPage> ParseS3Listing(std::string_view directory,
                                   const PageText& page) {
  return directory == kBuckets ? ParseBuckets(page.body)
                               : ParseS3Page(page.body);
}

std::string LikelyNextInS3(const PageText& page) {
  return LikelyNextS3Page(page.body);
}

std::string_view WithoutVersionMark(std::string_view url) {
  (void)TakeVersion(url);
  return url;
}

constexpr Listings kS3Listings{.locate = &LocateS3Page,
                               .names_directory = &NamesBucket,
                               .path_of = &PathInBucket,
                               .parse = &ParseS3Listing,
                               .likely_next = &LikelyNextInS3,
                               .have_etags = true};

}  // namespace

extern const Scheme kS3{.prefix = kS3Prefix,
                        .locate = &LocateS3,
                        .without_suffix = &WithoutVersionMark,
                        .literal = true,
                        .listings = &kS3Listings};

}  // namespace ctxfs::remote
