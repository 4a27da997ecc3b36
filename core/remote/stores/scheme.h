// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/remote/stores/listing.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {

/// The functions of a kind of store for listing directories, whose URLs end in
/// '/'.
struct Listings {
  /// Like LocatePage.
  Result<Location> (*locate)(std::string_view directory,
                             const std::string& token,
                             const Endpoints& endpoints);
  /// Whether a URL without a trailing '/' can only name a directory.
  bool (*names_directory)(std::string_view url);
  /// Like PathOfDirectory.
  std::string (*path_of)(std::string_view directory);
  Result<ListingPage> (*parse)(std::string_view directory,
                               const PageText& page);
  /// Guesses the token of the next page without parsing; empty: there is none,
  /// or it is not known yet.
  std::string (*likely_next)(const PageText& page);
  /// Whether StoreName::version is an ETag, valid for If-Match.
  bool have_etags;
};

/// A kind of store, with the meaning of its URLs. To add one, write a file that
/// defines a Scheme, add it to kSchemes in url.cc, and add its prefix to
/// core/io/urls/url.cc. Schemes run where containers are parsed, and must not
/// contain credentials.
struct Scheme {
  std::string_view prefix;  // of its URLs
  /// Like Locate. The service selects the credentials of a request.
  Result<Location> (*locate)(std::string_view url, const Endpoints& endpoints);
  /// Returns a URL without its trailing version or query.
  std::string_view (*without_suffix)(std::string_view url);
  /// Whether names are literal parts of URLs, not percent-encoded.
  bool literal = false;
  /// Null: the store has no listings.
  const Listings* listings = nullptr;
};

/// The kind of store of a URL; null if no store has such URLs.
const Scheme* SchemeOf(std::string_view url);
/// The listings of the URL's store; null if it has none.
const Listings* ListingsOf(std::string_view url);

// Helpers for the files of schemes.
Error Refused(std::string why);
/// Whether a component of `path` is "." or "..", which servers and clients
/// resolve differently.
bool HasDots(std::string_view path);
/// Checks an http:// or https:// URL, and encodes bytes that it must not
/// contain.
Result<Location> LocateWeb(std::string_view url);
std::string_view WithoutQueryAndFragment(std::string_view url);

}  // namespace ctxfs::remote
