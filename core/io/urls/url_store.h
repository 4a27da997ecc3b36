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

/// A name in a directory of a store: an object's, or the common prefix, up to
/// the next '/', of the keys of several objects.
struct StoreName {
  std::string name;         // the part of the key; anything but '/'
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

  /// Opens the object at `url` or, if only longer keys with this prefix and a
  /// '/' exist, that directory.
  virtual Result<SourcePtr> Open(const std::string& url,
                                 const Request& request) = 0;

  /// Returns the names in a directory: none, if it does not exist. Listings are
  /// cached for a while.
  virtual Result<StoreListingPtr> List(const std::string& directory,
                                       const Request& request) = 0;

  /// Opens `name` of a listing of `directory`. If the object was replaced
  /// since, reads fail with kStale, and the directory is listed again.
  virtual Result<SourcePtr> OpenListed(const std::string& directory,
                                       const StoreName& name,
                                       const Request& request) = 0;

  /// The URL of `name` in `directory`.
  virtual std::string UrlOf(const std::string& directory,
                            const StoreName& name) const = 0;
};

/// Sets the process-wide store for URLs; null: none. The caller keeps it alive
/// while anything that it opened is in use.
void SetUrlStore(UrlStore* store);

/// Null if URLs cannot be opened here.
UrlStore* TheUrlStore();

/// The identity of `url` when it was listed.
FileIdentity IdentityOf(const std::string& url, const StoreName& name);
FileIdentity IdentityOfDirectory(const std::string& url);

}  // namespace ctxfs
