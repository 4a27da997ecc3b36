// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/remote/stores/listing.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {

/// How a kind of store lists its directories, whose URLs end in '/'.
struct Listings {
  /// As LocatePage.
  Result<Location> (*locate)(std::string_view directory,
                             const std::string& token,
                             const Endpoints& endpoints);
  /// Whether a URL without a '/' at its end can only name a directory.
  bool (*names_directory)(std::string_view url);
  /// As PathOfDirectory.
  std::string (*path_of)(std::string_view directory);
  Result<ListingPage> (*parse)(std::string_view directory,
                               const PageText& page);
  /// The token that a page likely has for the next one, found without parsing
  /// it; empty: there is none, or it is not known yet.
  std::string (*likely_next)(const PageText& page);
  /// Whether StoreName::version is an ETag, so that If-Match takes it.
  bool have_etags;
};

/// A kind of store: what its URLs name. A new one is a file that defines one of
/// these, and a line in url.cc. It runs where containers are parsed, and must
/// not know credentials.
struct Scheme {
  std::string_view prefix;  // of its URLs
  /// As Locate. The service says which credentials a request has.
  Result<Location> (*locate)(std::string_view url, const Endpoints& endpoints);
  /// Returns a URL without the version or query at its end.
  std::string_view (*without_suffix)(std::string_view url);
  /// Whether names are parts of URLs as they are, and not percent-encoded.
  bool literal = false;
  /// Null: the store has no listings.
  const Listings* listings = nullptr;
};

/// Null if no store has such URLs.
const Scheme* SchemeOf(std::string_view url);
/// Null if its store has none.
const Listings* ListingsOf(std::string_view url);

// For their files.
Error Refused(std::string why);
/// Whether a component of `path` is "." or "..", which servers and clients
/// resolve differently.
bool HasDots(std::string_view path);
/// Checks an http:// or https:// URL, and encodes what it cannot hold.
Result<Location> LocateWeb(std::string_view url);
std::string_view WithoutQueryAndFragment(std::string_view url);

}  // namespace ctxfs::remote
