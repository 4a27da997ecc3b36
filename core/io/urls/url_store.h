// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/identity.h"
#include "core/io/source.h"

namespace ctxfs {

/// A name in a directory of a store: of an object, or of a directory. A
/// directory exists if keys continue after the name with a '/'.
struct StoreName {
  std::string name;         // a component of the key; any bytes but '/'
  bool directory = false;   // if set, the other members are unset
  uint64_t size = 0;        // bytes
  std::string version;      // changes with the bytes; empty: unknown
  int64_t modified_ns = 0;  // since 1970; 0: unknown
};

/// A snapshot of the names in a directory of a store.
struct StoreListing {
  /// Sorted by name. An object comes before a directory of the same name.
  std::vector<StoreName> names;
  /// Number of names that cannot be part of a URL, and the first of them.
  uint64_t left_out = 0;
  std::string first_left_out;

  /// Null if the name does not exist.
  const StoreName* Find(std::string_view name, bool directory) const;
};
using StoreListingPtr = std::shared_ptr<const StoreListing>;

/// Opens URLs in this process. URLs of directories end in '/'. Safe for any
/// number of threads, which wait as long as their requests allow.
class UrlStore {
 public:
  UrlStore() = default;
  virtual ~UrlStore() = default;
  UrlStore(const UrlStore&) = delete;
  UrlStore& operator=(const UrlStore&) = delete;

  /// Opens the object at `url`, or the directory if `url` can only name one,
  /// such as s3://BUCKET or an hf:// URL that ends in '/'. If there is no such
  /// object, but keys exist that start with the key of `url` and a '/', opens
  /// that directory; web servers list no keys.
  virtual Result<SourcePtr> Open(const std::string& url,
                                 const Request& request) = 0;

  /// Returns the names in a directory; an empty listing if it does not exist.
  /// Listings are cached for a while.
  virtual Result<StoreListingPtr> List(const std::string& directory,
                                       const Request& request) = 0;

  /// Opens `name` of a listing of `directory`. If the object was replaced after
  /// the listing, this call or reads fail with kStale, and the directory is
  /// listed again.
  virtual Result<SourcePtr> OpenListed(const std::string& directory,
                                       const StoreName& name,
                                       const Request& request) = 0;

  /// The URL of `name` in `directory`.
  virtual std::string UrlOf(const std::string& directory,
                            const StoreName& name) const = 0;
};

/// Sets the process-wide store for URLs; null: none. The store must outlive
/// everything that it opened.
void SetUrlStore(UrlStore* store);

/// Null if URLs cannot be opened here.
UrlStore* TheUrlStore();

/// Returns the identity of the object or directory at `url`, from its listed
/// `name`.
FileIdentity IdentityOf(const std::string& url, const StoreName& name);
FileIdentity IdentityOfDirectory(const std::string& url);

}  // namespace ctxfs
