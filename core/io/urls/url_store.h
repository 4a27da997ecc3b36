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

/// A name in a directory of a store: that of an object, or what the keys of
/// several objects have in common up to the next '/'.
struct StoreName {
  std::string name;         // the part of the key; anything but '/'
  bool directory = false;   // the other members are those of an object
  uint64_t size = 0;        // bytes
  std::string version;      // changes with the bytes; empty: not told
  int64_t modified_ns = 0;  // since 1970; 0: not told
};

/// The names in a directory of a store, as they were at one time.
struct StoreListing {
  /// Sorted by name. An object comes before a directory of the same name.
  std::vector<StoreName> names;
  /// Names that cannot be part of a URL, and the first of them.
  uint64_t left_out = 0;
  std::string first_left_out;

  /// Null if there is none.
  const StoreName* Find(std::string_view name, bool directory) const;
};
using StoreListingPtr = std::shared_ptr<const StoreListing>;

/// Opens URLs in this process. URLs of directories end in '/'. Safe for
/// any number of threads, which wait as their requests allow.
class UrlStore {
 public:
  UrlStore() = default;
  virtual ~UrlStore() = default;
  UrlStore(const UrlStore&) = delete;
  UrlStore& operator=(const UrlStore&) = delete;

  /// Opens the object at `url` or, if there is none but others whose keys
  /// continue it after a '/', this directory.
  virtual Result<SourcePtr> Open(const std::string& url,
                                 const Request& request) = 0;

  /// Returns what is in a directory: nothing, if it does not exist. A listing
  /// is cached for a while.
  virtual Result<StoreListingPtr> List(const std::string& directory,
                                       const Request& request) = 0;

  /// Opens what `name` of a listing of `directory` is. If an object is another
  /// one by now, reads fail with kStale, and the directory is listed anew.
  virtual Result<SourcePtr> OpenListed(const std::string& directory,
                                       const StoreName& name,
                                       const Request& request) = 0;

  /// The URL of `name` in `directory`.
  virtual std::string UrlOf(const std::string& directory,
                            const StoreName& name) const = 0;
};

/// Sets what opens URLs from now on, in the whole process; null: nothing. The
/// caller keeps it, for as long as anything that it opened is used.
void SetUrlStore(UrlStore* store);

/// Null if URLs cannot be opened here.
UrlStore* TheUrlStore();

/// The identity of what `url` named when it was listed.
FileIdentity IdentityOf(const std::string& url, const StoreName& name);
/// The identity of the directory `url`.
FileIdentity IdentityOfDirectory(const std::string& url);

}  // namespace ctxfs
